"""Names that the program, the policy pack, the audit and the proof share: type tokens, labels, annotations, taints.

A leaf: it imports nothing, and every other module may import it. A name is spelled here and nowhere else, so that a
program and the rules that evaluate it cannot drift apart.
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
"""Files of machines that are rendered: a dynamic resource, whose token the engine prefixes."""

STACK_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
"""The pattern of a stack's name, matched in full. No name begins with a dot: those are Quorate's own under build/."""

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
"""Keeps every pod off a pool's nodes but those that the pool admits; its value is the pool."""
CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"

# Labels of pods and of everything that belongs to a workload.
NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"

# Annotations of workloads.
ROW = "quorate.io/row"
"""The row of the reference architecture that the workload stands for, as the table writes it."""
COMPANION_OF = "quorate.io/companion-of"
"""The row that the workload accompanies without counting as one of its instances, as the table writes it."""
REPLACES = "quorate.io/replaces"
"""Retired rows whose work this workload does."""
CONFIG = "quorate.io/config"
"""A digest of the pod's configuration without secrets, so that a change of it rolls the pods."""
SECRET_GENERATIONS = "quorate.io/secret-generations"  # noqa: S105 - a key, not a value
"""How often each secret of the pod was replaced, so that a new one rolls the pods; nothing derived from the secret."""

# Pools of nodes that no service owns; every other pool has the name of the service that owns it.
MASTER_POOL, COMPUTE_POOL, STORAGE_POOL = "master", "compute", "storage"
MONITORING_POOL, CONTROLLER_POOL = "monitoring", "controller"

QUORUM_STATE_OUTPUT = "standing"
"""The stack output that holds the members of each quorum, for the next deployment to compare with."""
