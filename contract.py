"""Names that the program, the policy pack, the audit and the proof share: type tokens, labels, annotations, taints.

This module imports nothing, and every other module may import it. Each name is defined only here, so that the program
and the rules that evaluate it always use the same one.
"""

# Type tokens, `package:module:Name`. A token is part of every URN below it: changing one replaces resources.
CLOUD = "quorate:index:Cloud"
PREVIOUS = "quorate:index:Previous"
VIRT_HOST = "quorate:virt:VirtHost"
MASTER_TIER = "quorate:k8s:MasterTier"
ETCD = "quorate:k8s:Etcd"
CALICO = "quorate:k8s:Calico"
ENVIRONMENT = "quorate:openstack:Environment"
PROJECT = "quorate:openstack:Project"
PROCESS = "quorate:openstack:Process"

MACHINE = "quorate:machine:Machine"
MACHINE_POOL = "quorate:machine:MachinePool"
TREE = "pulumi-python:dynamic/quorate:Tree"
"""Rendered files of machines: a dynamic resource, whose token gets a prefix from the SDK."""

STACK_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
"""The full pattern of a stack's name. Names with a leading dot are excluded: Quorate uses them under build/."""

# Labels of nodes.
SERVER = "quorate.io/server"
"""The physical host: the failure domain that two members of one quorum must not share."""
RACK = "quorate.io/rack"
ZONE = "topology.kubernetes.io/zone"
POOL = "quorate.io/pool"
HOSTNAME = "kubernetes.io/hostname"
COMPUTE_NODE = "openstack-compute-node"
CONTROL_PLANE_NODE = "openstack-control-plane"
"""These two have the value `enabled`, as in the clusters that OpenStack-Helm and its relatives label."""

# Taints of nodes.
DEDICATED = "quorate.io/dedicated"
"""Repels every pod from a pool's nodes except those that the pool admits; the value is the pool's name."""
CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"

# Annotations of CronJobs that `quorate action` runs.
ACTION = "quorate.io/action"
"""What the action does, in one line."""
ACTION_REQUIRES = "quorate.io/action-requires"
"""What it requires of the quorum first: whole, stopped or nothing."""

# Labels of pods and of everything that belongs to a workload.
NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"

# Annotations of workloads.
ROW = "quorate.io/row"
"""The row of the reference architecture that the workload implements, as written in the table."""
COMPANION_OF = "quorate.io/companion-of"
"""The row that the workload accompanies without counting as one of its instances, as written in the table."""
REPLACES = "quorate.io/replaces"
"""Retired rows that this workload replaces."""
CONFIG = "quorate.io/config"
"""A digest of the pod's configuration without secrets, so that a change triggers a rolling update."""
SECRET_GENERATIONS = "quorate.io/secret-generations"  # noqa: S105 - a key, not a value
"""The generation of each secret of the pod, so that replacing a secret triggers a rolling update; no secret data."""

# Pools of nodes that no service owns; every other pool has the name of the service that owns it.
MASTER_POOL, COMPUTE_POOL, STORAGE_POOL = "master", "compute", "storage"
MONITORING_POOL, CONTROLLER_POOL = "monitoring", "controller"

QUORUM_STATE_OUTPUT = "standing"
"""The stack output that holds the members of each quorum, for the next deployment to compare with."""
