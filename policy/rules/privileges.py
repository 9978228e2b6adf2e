"""Privileges of pods: access to their host."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from policy.facts.pods import POD_TYPES, Pods, pods
from policy.facts.quorums.quorums import quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

PRIVILEGED, NETWORK, PIDS, IPC, PATHS = "privileged", "hostNetwork", "hostPID", "hostIPC", "hostPath"
READS_HOST = "all files of the host, read-only"
_AGENT = frozenset({PRIVILEGED, NETWORK, PATHS})

NEEDED: Mapping[str, frozenset[str]] = {
    # 004, 5.3.7: nova-compute and libvirt manage the host's virtual machines; Kolla runs libvirt in host PIDs.
    "nova-compute": _AGENT | {IPC},
    "nova-libvirt": _AGENT | {PIDS, IPC},
    # Nova makes directories of stopped virtual machines on another compute by SSH.
    "nova-ssh": frozenset({NETWORK, PATHS}),
    # 004, 5.3.8: Neutron's agents create network namespaces, bridges and routes on their node.
    "neutron-l2-agent": _AGENT,
    "neutron-l3-agent": _AGENT,
    "neutron-l3-agent-compute": _AGENT,
    "neutron-sriov-nic-agent": _AGENT,
    "neutron-dhcp-agent": _AGENT,
    "neutron-metadata-agent": _AGENT,
    "ovn-controller": frozenset({NETWORK, PATHS}),
    "neutron-ovn-metadata-agent": _AGENT,
    "openvswitch-db-server": frozenset({NETWORK, PATHS}),
    "openvswitch-vswitchd": _AGENT,
    # The conductor keeps what machines of Ironic boot and copy on its node, for the HTTP server beside it.
    "ironic-conductor": frozenset({PATHS}),
    # Clients know a Ceph monitor by its address, which a pod network does not preserve (docs/adr/0019-ceph.md).
    "ceph-mon": frozenset({NETWORK}),
    # 004, 5.3.14: an OSD serves the disks of its node.
    "ceph-osd": _AGENT,
    # 004, 5.3.15: agents on every node read the node's network counters, its disks and its containers' output.
    "node-exporter": frozenset({NETWORK, PATHS, PIDS, READS_HOST}),
    "log-collector": frozenset({PATHS}),
    # 004, 5.5.3 and 5.5.5: these programs set up the pod network, or run before it is up.
    "calico-node": _AGENT | {PIDS},
    "kube-proxy": _AGENT,
    "kube-apiserver": frozenset({NETWORK, PATHS}),
    "kube-scheduler": frozenset({NETWORK, PATHS}),
    "kube-controller-manager": frozenset({NETWORK, PATHS}),
    "etcd": frozenset({NETWORK, PATHS}),
    "api-proxy": frozenset({NETWORK, PATHS}),
}
"""Allowed host access by name of the service, the pod's label, or the program that its containers run."""

_OF_MEMBERS = "/var/lib/"
_OF_AGENTS = ("/var/lib/kubelet", "/var/lib/containerd", "/var/lib/docker", "/var/lib/containers")
"""Directories with files of other pods, which are not a member's own data."""
_WHOLE_HOST = frozenset({"/", "/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/usr", "/var", "/var/run"})
"""Directories that give a container the power of a privileged container."""

STRONG = frozenset({"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "BPF"})
"""Capabilities that give a container the power of a privileged container."""


def _taken(each: Pods) -> dict[str, str]:
    """Returns the host access that pods use, each with the pod or containers that use it."""
    spec = each.spec
    found = {field: "the pod" for field in (NETWORK, PIDS, IPC) if spec.at(field).flag()}
    paths = [path for volume in spec.at("volumes").items() if (path := volume.at("hostPath", "path").text())]
    whole = [path for path in paths if posixpath.normpath(path) in _WHOLE_HOST]
    own = [path for path in paths if _is_own_data(each, path)]
    if whole:
        found[READS_HOST if _only_reads(each, whole) else PRIVILEGED] = f"the host's directory {join_names(whole)}"
    if rest := [path for path in paths if path not in (*whole, *own)]:
        found[PATHS] = join_names(rest)
    for container in each.containers():
        security = container.at("securityContext")
        strong = STRONG & {word.removeprefix("CAP_") for word in security.at("capabilities", "add").words()}
        if security.at("privileged").flag() or strong:
            found[PRIVILEGED] = f"container {container.at('name').text()}"
    return found


def _only_reads(each: Pods, paths: list[str]) -> bool:
    """Whether the containers mount these directories of the host read-only."""
    volumes = {
        volume.at("name").text()
        for volume in each.spec.at("volumes").items()
        if volume.at("hostPath", "path").text() in paths
    }
    mounts = [mount for container in each.containers() for mount in container.at("volumeMounts").items()]
    of_host = [mount for mount in mounts if mount.at("name").text() in volumes]
    return bool(of_host) and all(mount.at("readOnly").flag() for mount in of_host)


def _is_own_data(each: Pods, path: str) -> bool:
    """Whether a host path has the data of a quorum member in a DaemonSet, whose pods cannot have their own claims."""
    if each.workload is None or each.workload.kind != "DaemonSet" or quorum_of(each.workload) is None:
        return False
    clean = posixpath.normpath(path)
    return clean.startswith(_OF_MEMBERS) and not clean.startswith(_OF_AGENTS)


def _names(facts: Facts, each: Pods) -> set[str]:
    if each.workload is None:
        return {each.name, *each.names}
    return {facts.service(each.workload) or "", *each.names}


@rule(
    id="host-access-where-needed",
    title="Only services that need the host use privileged mode or host access",
    severity=Severity.HIGH,
    rationale="An attacker who compromises a privileged container, or a container with access to the host's network, "
    "processes or files, controls the node and every instance on it.",
    sources=(
        RuleSource("project", "Security", 1),
        RuleSource("002", "Security Impact", 2),
    ),
    remediation="Remove privileged, hostNetwork, hostPID, hostIPC and hostPath. Store data on a PersistentVolume "
    "and settings in a ConfigMap.",
    subjects=pods,
    applies=lambda _facts, each: bool(_taken(each)),
    not_applicable_reason="no pod has access to its host",
    parameters={name: ", ".join(sorted(needs)) for name, needs in NEEDED.items()},
    since="0.2.0",
    single=POD_TYPES,
)
def host_access_where_needed(facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Compares each kind of host access with the kinds that the service is known to need."""
    needs = frozenset[str]().union(*(NEEDED.get(name, ()) for name in _names(facts, each)))
    taken = _taken(each)
    beyond = [f"{what} ({who})" for what, who in taken.items() if what not in needs]
    if beyond:
        yield RuleProblem(f"uses {join_names(beyond)}", "only the host access listed for this service")
