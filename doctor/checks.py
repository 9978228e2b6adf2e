"""Checks of a single machine. A fact that cannot be read on the machine fails its check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from blueprint.kernel_settings import MODULES
from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Settings
from contract import MASTER_POOL
from doctor import container_checks, kernel_checks
from doctor.login import Reading
from openstack.monitoring import limits

CLOCK = 1
"""Seconds by which a machine's clock may differ from this host's. etcd warns of more than 1 s between its members
(etcd, server/etcdserver/api/rafthttp/probing_status.go); certificates are not valid before their time."""
FREE = 20
"""GiB that must be free in /var/lib, for images, logs and etcd. Project figure."""
EVICTION = 100 * 1024
"""KiB of memory that kubelet keeps from pods (evictionHard, memory.available)."""
DISK_SHARE = 0.95
"""Smallest part of the size in the stack file that a disk may have. Project figure."""
CGROUP = "cgroup2fs"
"""Type of the file system of cgroup v2. Kubelets from 1.35 on refuse to start with v1 (failCgroupV1)."""

ETCD = (3, 5, 26)
"""The oldest version of etcd that may run. Earlier ones of 3.5 keep their members in a store that 3.6 does not read
(https://etcd.io/blog/2025/zombie_members_upgrade/)."""
_ETCD_VERSION = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)")

_TASK_NAME = 15
"""Characters of a program's name that Linux keeps (TASK_COMM_LEN less one)."""
_EVERY_NODE = {10250: "kubelet"}
_MEMBER = {2379: "etcd", 2380: "etcd"}
_MASTER = {
    6443: "kube-apiserver",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}
_WORKER = {6443: "nginx"}
"""Ports with the programs that may use them (https://kubernetes.io/docs/reference/networking/ports-and-protocols/);
nginx is the proxy to the API servers."""
_PROGRAMS = ("conntrack", "containerd", "kubeadm", "kubectl", "kubelet", "runc")
_MASTER_PROGRAMS = ("curl", "etcdctl")
_MEMBER_PROGRAMS = ("etcd", "etcdctl", "etcdutl", "kubectl")
"""Programs of a machine with a member of etcd. It reads the metrics of other members with kubectl."""


@dataclass(frozen=True)
class MachineFinding:
    """A failed check of a machine."""

    check: str
    machine: str
    problem: str
    remedy: str


Problems = Iterator[tuple[str, str]]
"""Problems of a machine, each with its remedy."""


def login(reading: Reading) -> Problems:
    """Checks that the user has root's rights, which `apply` needs."""
    if not reading.facts.one("root"):
        yield "the user cannot become root", "allow `sudo -n` for the user in /etc/sudoers.d"


def hostname(node: Node, reading: Reading) -> Problems:
    """Checks that the machine has its name in the stack file, which becomes its node's, or this name's host part."""
    if (name := reading.facts.one("name")) not in (node.name, node.name.partition(".")[0]):
        yield (
            f"its name is {name or 'unknown'}",
            f"run `hostnamectl set-hostname {node.name}`, or correct address",
        )


def clock(_node: Node, reading: Reading, settings: Settings) -> Problems:
    """Checks the clock against this host's, and that something keeps it right, unless `up` will care for that."""
    seconds = reading.facts.number("clock")
    if seconds is None:
        yield "its clock cannot be read", "look at `date` there"
    elif seconds + 1 < reading.earliest - CLOCK or seconds > reading.latest + CLOCK:
        off = round(seconds - reading.latest)
        yield f"its clock is {abs(off)} s {'ahead' if off > 0 else 'behind'}", "synchronize it, for example with chrony"
    if reading.facts.one("synchronized") != "yes" and not kernel_checks.is_unprepared(reading, settings):
        yield "its clock is not synchronized", "install and start chrony there"


def size(node: Node, reading: Reading) -> Problems:
    """Checks cores and memory against the stack file. `up` refuses nodes that are smaller than planned."""
    cores, memory = reading.facts.number("cores"), reading.facts.gibibytes("memory")
    kind = "vms" if node.virtual else "servers"
    if cores is None or memory is None:
        yield "its cores and memory cannot be read", "look at /proc/meminfo there"
        return
    if cores < node.machine.cpu:
        yield f"it has {cores} cores, not {node.machine.cpu}", f"correct cpu in {kind} of the stack file"
    usable = memory - EVICTION / 1024**2 if node.is_kubernetes_node else memory
    if usable < node.machine.memory:
        key = "ram" if node.virtual else "memory"
        yield (
            f"it has {usable:.1f} GiB of memory{' for pods' * node.is_kubernetes_node}, not {node.machine.memory}",
            f"write {key}: {int(usable)} in {kind} of the stack file, or give it more memory",
        )


def swap(node: Node, reading: Reading) -> Problems:
    """Checks that swap is off. Kubelet refuses to start with swap (failSwapOn)."""
    used = reading.facts.all("swap")
    if used and node.is_kubernetes_node:
        yield f"swap is on ({', '.join(used)})", "run `swapoff --all` there, and remove it from /etc/fstab"


def cgroups(node: Node, reading: Reading) -> Problems:
    """Checks for systemd, and on nodes for cgroup v2, which kubelet and containerd use."""
    found = reading.facts.one("cgroup")
    if found != CGROUP and node.is_kubernetes_node:
        problem = f"it has no cgroup v2 ({found or 'nothing'} at /sys/fs/cgroup)"
        yield problem, "boot with systemd.unified_cgroup_hierarchy=1"
    if not reading.facts.one("systemd"):
        yield "systemd does not run", "use a distribution with systemd"


def programs(node: Node, reading: Reading, has_member: bool) -> Problems:
    """Checks for the programs that `apply` starts, and the kernel's modules for containers."""
    wanted = (
        *(_PROGRAMS if node.is_kubernetes_node else ()),
        *(_MEMBER_PROGRAMS if has_member else ()),
        *(_MASTER_PROGRAMS if MASTER_POOL in node.roles else ()),
    )
    if missing := [each for each in dict.fromkeys(wanted) if each not in reading.facts.all("program")]:
        yield f"missing programs: {', '.join(missing)}", "install them"
    modules = MODULES if node.is_kubernetes_node else ()
    if missing := [each for each in modules if each not in reading.facts.all("module")]:
        yield f"missing kernel modules: {', '.join(missing)}", "install the kernel's package of modules"


def etcd(_node: Node, reading: Reading, has_member: bool) -> Problems:
    """Checks the version of the program of a member."""
    version = reading.facts.one("etcd")
    if has_member and "etcd" in reading.facts.all("program") and not accepted(version):
        yield f"its etcd is {version or 'of an unknown version'}", "install etcd 3.6, or 3.5.26 or later of 3.5"


def accepted(version: str) -> bool:
    """Whether etcd of a version may run, as components/k8s_master/etcd_members.sh asks before it starts a member."""
    found = _ETCD_VERSION.fullmatch(version)
    return found is not None and found[1] == "3" and tuple(map(int, found.groups())) >= ETCD


def ports(node: Node, reading: Reading, has_member: bool) -> Problems:
    """Checks that the ports of etcd and Kubernetes are free or used by them."""
    if not reading.facts.one("ports"):
        yield "its open ports cannot be read", "install iproute2"
    of_node = _EVERY_NODE | (_MASTER if MASTER_POOL in node.roles else _WORKER)
    wanted = (of_node if node.is_kubernetes_node else {}) | (_MEMBER if has_member else {})
    seen: set[int] = set()
    for each in reading.facts.listeners:
        expected = wanted.get(each.port)
        if expected and each.port not in seen and each.program != expected[:_TASK_NAME]:
            seen.add(each.port)
            yield f"port {each.port} of {expected} is used by {each.program or 'another program'}", "stop that program"


def disks(node: Node, reading: Reading) -> Problems:
    """Checks free space in /var/lib, and that the disks of the stack file exist."""
    free = reading.facts.gibibytes("free")
    if free is None:
        yield "the free space in /var/lib cannot be read", "look at `df /var/lib` there"
    elif free < FREE:
        yield f"{free:.1f} GiB are free in /var/lib, less than {FREE}", "enlarge its file system"
    left = list(reading.facts.block_devices)
    for wanted in sorted(node.machine.disks, key=lambda each: -each.size):
        fitting = [each for each in left if each.type == wanted.type and each.size >= wanted.size * 1e9 * DISK_SHARE]
        for each in fitting[: wanted.count]:
            left.remove(each)
        if len(fitting) < wanted.count:
            described = f"{wanted.type} disks of {wanted.size} GB"
            yield f"it has {len(fitting)} {described}, not {wanted.count}", "correct disks in the stack file"


def units(reading: Reading) -> Problems:
    """Checks that no unit of etcd and Kubernetes has failed, such as the hourly copy of etcd's data."""
    for unit in reading.facts.all("failed"):
        yield f"{unit} has failed", f"look at `journalctl --unit={unit}` there"


def certificates(reading: Reading) -> Problems:
    """Checks that the certificates of etcd and Kubernetes do not expire soon."""
    for path, end in reading.facts.certificates.items():
        if end is None:
            yield f"the end of {path} cannot be read", "install openssl there, or look at the file"
        elif end - datetime.now(UTC) < limits.CERTIFICATE:
            yield f"{path} expires on {end:%Y-%m-%d}", "renew it, one master at a time"


_ALIKE: Mapping[str, Callable[[Reading], Problems]] = {
    "root": login,
    "certificates": certificates,
    "units": units,
}
_BY_NODE: Mapping[str, Callable[[Node, Reading], Problems]] = {
    "swap": swap,
    "cgroups": cgroups,
    "name": hostname,
    "size": size,
    "disks": disks,
    "forwarding": container_checks.forwarding,
    "resolver": container_checks.resolver,
}
_BY_STACK: Mapping[str, Callable[[Node, Reading, Settings], Problems]] = {
    "clock": clock,
    "versions": container_checks.versions,
    "containerd": container_checks.containerd,
    "kernel": kernel_checks.kernel,
    "distribution": kernel_checks.distribution,
}
_BY_MEMBER: Mapping[str, Callable[[Node, Reading, bool], Problems]] = {
    "programs": programs,
    "etcd": etcd,
    "ports": ports,
}
CHECKS = (*_BY_STACK, *_ALIKE, *_BY_NODE, *_BY_MEMBER)
"""Names of the checks of a single machine: those that are alike for all, and those that depend on node or stack."""


def of_machine(node: Node, reading: Reading, settings: Settings, *, has_member: bool) -> Iterator[MachineFinding]:
    """Yields the failed checks of a machine. `has_member`: whether it has a member of etcd.

    What `up` will prepare is left out until it has begun to.
    """
    left_out = kernel_checks.PREPARED if kernel_checks.is_unprepared(reading, settings) else ()
    found = _all(node, reading, settings, has_member=has_member)
    return (each for each in found if each.check not in left_out)


def _all(node: Node, reading: Reading, settings: Settings, *, has_member: bool) -> Iterator[MachineFinding]:
    for name, hold in _BY_STACK.items():
        yield from (MachineFinding(name, node.name, *each) for each in hold(node, reading, settings))
    for name, check in _ALIKE.items():
        yield from (MachineFinding(name, node.name, *each) for each in check(reading))
    for name, compare in _BY_NODE.items():
        yield from (MachineFinding(name, node.name, *each) for each in compare(node, reading))
    for name, examine in _BY_MEMBER.items():
        yield from (MachineFinding(name, node.name, *each) for each in examine(node, reading, has_member))
