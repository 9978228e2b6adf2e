"""Defines names that Quorate's parts share: Pulumi type tokens, and Kubernetes labels, annotations and taints.

This module imports nothing, and every other module may import it. Each name is defined only here, so that the Pulumi
program and the policy rules that evaluate its resources use the same name.
"""

# Pulumi type tokens, `package:module:Name`. URNs of child resources contain the token: changing it replaces them.
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
CLASS_ADDRESS = "{}Address"
"""Fact of a machine with its address in a network beside management, by the network's class, such as overlayAddress."""
DOMAIN_DEFINITION = "pulumi-python:dynamic/quorate:DomainDefinition"
"""Type token of the resource that applies changes of a libvirt domain."""
TREE = "pulumi-python:dynamic/quorate:Tree"
"""Type token of the resource that renders a machine's files. The Pulumi SDK adds the prefix of dynamic resources."""

APPLY_DIRECTORY = "quorate/machines"
"""Directory on a machine, in the home directory of the user who logs in, from which the target `live` runs `apply`."""

KUBECONFIG_OUTPUT = "kubeconfig"
"""Stack output with the administrator's kubeconfig of a cluster whose machines Quorate sets up."""
ADMINISTRATOR = "admin"
"""Context of that kubeconfig."""
COPY_TESTS = "quorate-copy-tests"
"""ConfigMap in which `quorate copies --test` records when a copy in the object store was restored last."""
BACKUP_STORE_OUTPUT = "backupStore"
"""Stack output with what reads copies of backups in an object store: texts of files by name, as JSON."""

API_PORT = 6443
"""Port of the API servers on masters, and of the local proxy to them on other machines."""
API_SERVER = "QUORATE_API_SERVER"
"""Environment variable with the name of the master whose API server the kubeconfig names; by default the first."""

STACK_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
"""Pattern that matches the name of a stack. A leading dot is not allowed: Quorate uses such names under build/."""

LIBVIRT_POOL = "quorate"
"""libvirt's storage pool on a virt host, with the disks of its virtual machines."""
LIBVIRT_DISKS = f"/var/lib/libvirt/{LIBVIRT_POOL}"
"""The directory of this pool. Domains name their disks by path: virt-aa-helper, which writes the AppArmor profiles of
virtual machines, gives no access to disks that are named by pool and volume."""

# Labels of nodes.
SERVER = "quorate.io/server"
"""Label with the name of the node's physical host. Two members of one quorum must not run on the same host."""
RACK = "quorate.io/rack"
ZONE = "topology.kubernetes.io/zone"
POOL = "quorate.io/pool"
HOSTNAME = "kubernetes.io/hostname"
REFLECTOR = "projectcalico.org/RouteReflectorClusterID"
"""Annotation by which a node is a route reflector of Calico, if Calico stores its data in Kubernetes."""
COMPUTE_NODE = "openstack-compute-node"
CONTROL_PLANE_NODE = "openstack-control-plane"
"""Labels with the value `enabled` on compute nodes and on controllers, as OpenStack-Helm uses them."""

MAINTENANCE = "quorate.io/maintenance"
"""Annotation of a node that `quorate maintenance` has cordoned, with the name of what it takes out."""
NOOUT = "quorate.io/maintenance-noout"
"""Annotation of a node for whose OSDs `quorate maintenance` has set Ceph's flag noout."""

# Taints of nodes.
DEDICATED = "quorate.io/dedicated"
"""Taint that dedicates nodes to one service: only pods that tolerate it run there. Its value is the pool's name."""
CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"

# Annotations of CronJobs that `quorate action` runs.
ACTION = "quorate.io/action"
"""Annotation that describes the action in one line."""
ACTION_REQUIRES = "quorate.io/action-requires"
"""Annotation with the state that the quorum must have before the action runs: whole, stopped or nothing."""
TESTS_BACKUP = "quorate.io/tests-backup"
"""Annotation of a CronJob that restores backups to a scratch copy and compares them: the name of their CronJob."""

# Annotations of the Lease by which one operation at a time changes a cloud.
OPERATION = "quorate.io/operation"
"""Annotation with the operation that is under way, as JSON."""

# Labels of pods, and of other objects that belong to a workload.
NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"

# Annotations of workloads.
ROW = "quorate.io/row"
"""Annotation with the name of the reference architecture's row that the workload implements."""
COMPANION_OF = "quorate.io/companion-of"
"""Annotation with the name of the row that the workload accompanies, without counting as one of the row's instances."""
REPLACES = "quorate.io/replaces"
"""Annotation with the retired rows of the reference architecture that the workload replaces."""
CONFIG = "quorate.io/config"
"""Annotation with a digest of the pod's configuration, without secrets, so that a change triggers a rolling update."""
SECRET_GENERATIONS = "quorate.io/secret-generations"  # noqa: S105 - a key, not a value
"""Annotation with a number for each secret of the pod, which rises with the secret's replacement: the pod restarts."""

# Pools of nodes that are not dedicated to one service. Every other pool has the name of its service.
MASTER_POOL, COMPUTE_POOL, STORAGE_POOL = "master", "compute", "storage"
MONITORING_POOL, CONTROLLER_POOL = "monitoring", "controller"

EXTERNAL = "external"
"""Value of the Cloud component's fact `ceph` in a stack whose Ceph cluster is not its own."""
OVN = "ovn"
"""Value of the Cloud component's fact `networks` in a stack whose virtual machines are connected by OVN."""

ETCD_ROLE = "etcd"
"""Role of a machine that has a member of etcd and is not a Kubernetes node: it is in no pool."""

ETCD_METRICS_PORT = 2381
"""Port on which etcd serves only metrics and health, without TLS, as kubeadm's etcd does."""

NODE_DNS = "169.254.20.10"
"""Link-local address of every node's own DNS server, the one that Kubernetes' documentation of its node-local cache
uses: https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/."""
DNS_SERVICE = 10
"""Place of the DNS Service's address in the network of Services (kubeadm)."""

QUORUM_STATE_OUTPUT = "standing"
"""The stack output with the members of each quorum, which the policy rules compare the next deployment with."""

VERSIONS_OUTPUT = "versions"
"""The stack output with the versions that the last complete update deployed (blueprint/version_steps.py)."""

VERDICTS_FILE = "QUORATE_VERDICTS"
"""Environment variable with the path of the file into which the policy pack writes the verdicts of all rules."""
