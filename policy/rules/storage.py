"""What is below the data of quorum members: disks of virtual machines, mounts, and volumes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from policy.facts.kubernetes.volumes import Volume
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.machines.libvirt import LibvirtDomain
from policy.facts.machines.machine import MachineFacts
from policy.facts.machines.mounts import Mount, is_in_memory, mounting, mounts
from policy.facts.quorums.quorums import is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.rules.libvirt_domains import DOMAIN
from policy.shell.member_traces import in_data
from policy.wording import join_names

_UNSAFE = re.compile(r"""<transient\b|\bcache\s*=\s*["']unsafe["']|<xsl:attribute name=["']cache["']>\s*unsafe""")
_NO_BARRIER = re.compile(r"(?:^|,)(nobarrier|barrier=(?:0|off|none))(?:,|$)")
_DOMAINS = re.compile(r"/etc/libvirt/.+\.xml")
_CACHE = re.compile(r"/sys/(block|class/block)/[^/]+/queue/write_cache")
"""Settings of disks. After `write through`, the kernel sends no flush to a disk, although its cache is volatile."""


def _virtual(facts: Facts) -> Iterator[MachineFacts | LibvirtDomain]:
    yield from (machine for machine in facts.machines if DOMAIN in machine.definition or _definitions(machine))
    yield from facts.domains


def _definitions(machine: MachineFacts) -> list[str]:
    """Returns the paths of a machine's files that define virtual machines on it."""
    return [path for path in machine.files if _DOMAINS.fullmatch(path)]


@rule(
    id="virtual-disks-flush",
    title="Disks of virtual machines write what the guest flushes",
    severity=Severity.CRITICAL,
    rationale="With cache='unsafe' the host ignores every flush of the guest. A power failure of the host then loses "
    "data that members on it have acknowledged; they come back with an older log and can vote for it.",
    sources=(RuleSource("project", "Storage", 1),),
    remediation="Remove cache='unsafe' from the disk's driver in the domain template or its XSLT. none, writeback, "
    "writethrough and directsync obey flushes.",
    subjects=_virtual,
    not_applicable_reason="no machine of the stack has a libvirt domain",
    reads_machine_files=True,
    since="0.7.0",
)
def virtual_disks_flush(_facts: Facts, machine: MachineFacts | LibvirtDomain) -> Iterator[RuleProblem]:
    """Reads domain.xml of machines, and the XSLT of hand-written domains; the provider writes no cache of its own."""
    if isinstance(machine, LibvirtDomain):
        texts = [machine.transformation]
    else:
        texts = [*machine.definition.values(), *(machine.files[path] for path in _definitions(machine))]
    if any(map(_UNSAFE.search, texts)):
        yield RuleProblem(
            "a disk has cache='unsafe', so that the host ignores flushes, or is transient", "any other cache mode"
        )


def _about_mounts(machine: MachineFacts) -> bool:
    return bool(mounting(machine)) or any(map(_CACHE.fullmatch, machine.files))


@rule(
    id="mounts-keep-barriers",
    title="Machines keep members' data on disks, and mount no file system without write barriers",
    severity=Severity.CRITICAL,
    rationale="Without barriers a file system does not make the disk write its cache. A power failure then loses data "
    "that a member has flushed and acknowledged. A file system in memory is empty afterwards, and members on one file "
    "server fail with it.",
    sources=(RuleSource("project", "Storage", 2),),
    remediation="Remove nobarrier and barrier=0 from /etc/fstab, mount units, commands and the volume's mountOptions. "
    "Mount disks of the machine at directories of members, such as /var/lib/etcd.",
    subjects=lambda facts: facts.machines,
    applies=lambda _facts, machine: _about_mounts(machine),
    not_applicable_reason="the stack writes no mounts to machines",
    since="0.7.0",
)
def mounts_keep_barriers(_facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Reads /etc/fstab, units of systemd, and mounts and settings of disks by commands."""
    for each in mounts(machine):
        if found := _NO_BARRIER.search(each.options):
            yield RuleProblem(f"{each.place} mounts a file system with {found[1]}", "write barriers (the default)")
        if each.medium and in_data(each.directory):
            yield RuleProblem(f"{each.place} mounts {each.directory} {each.medium}", "a disk of the machine")
    for path in filter(_CACHE.fullmatch, machine.files):
        if "through" in machine.files[path]:
            yield RuleProblem(f"{machine.place(path)} is write through, so that no flush is sent", "write back")


def _storage_classes(facts: Facts, workload: Workload) -> Iterator[Resource]:
    names = facts.volumes.storage_classes(workload)
    for resource in facts.resources if names else ():
        is_class = kubernetes_kind(resource) == "StorageClass"
        if is_class and resource.props.at("metadata", "name").text(resource.name) in names:
            yield resource


def _has_storage(facts: Facts, workload: Workload) -> bool:
    if not is_member(facts, workload) or not workload.keeps_data:
        return False
    found = facts.volumes.bound(workload) or any(True for _ in _storage_classes(facts, workload))
    return bool(found) or any(True for _ in _directories(workload))


def _directories(workload: Workload) -> Iterator[str]:
    """Yields the directories of nodes that the pods mount."""
    for volume in workload.pod.at("volumes").items():
        if path := volume.at("hostPath", "path").text():
            yield path


@rule(
    id="members-volumes-keep-data",
    title="Volumes of quorum members are writable, on different disks, and outlive their claims",
    severity=Severity.CRITICAL,
    rationale="A volume in memory is empty after a power failure. Volumes of one server fail together, so that a "
    "quorum of three has one failure domain. With the reclaim policy Delete, a claim that is deleted by mistake takes "
    "the data along. A member whose volume is read-only does not start.",
    sources=(RuleSource("004", "5.3.17", 19), RuleSource("project", "Storage", 3)),
    remediation="Use local volumes of the nodes, or storage with copies of its own; set reclaimPolicy: Retain in the "
    "StorageClass and persistentVolumeReclaimPolicy: Retain in volumes.",
    subjects=lambda facts: facts.workloads,
    applies=_has_storage,
    not_applicable_reason="no quorum member of the stack has a volume whose storage is described",
    since="0.7.0",
)
def members_volumes_keep_data(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads the PersistentVolumes and StorageClasses of the stack that the members' claims can use, and hostPaths."""
    volumes = facts.volumes.bound(workload)
    for path in filter(None, dict.fromkeys((*_directories(workload), *map(_path, volumes)))):
        if is_in_memory(path):
            yield RuleProblem(
                f"its data is in {path}, which is empty after a restart of the node", "a directory on disk"
            )
        for mount, machine in _media(facts):
            if mount.carries(path):
                where = f"its data is in {path}, which {machine} mounts {mount.medium}"
                yield RuleProblem(where, "a directory on disk")
    for each in volumes:
        yield from _of_volume(each)
    servers = Counter(server for each in volumes if (server := _server(each)))
    for server, count in servers.items():
        if count > 1:
            yield RuleProblem(
                f"{count} of its volumes are on one server, {server}", "storage that does not fail at once"
            )
    for each in _storage_classes(facts, workload):
        if each.props.at("reclaimPolicy").text() == "Delete":
            yield RuleProblem(f"StorageClass {each.name} has reclaimPolicy Delete", "Retain")
        if "nfs" in (provisioner := each.props.at("provisioner").text()):
            yield RuleProblem(
                f"StorageClass {each.name} makes all volumes on one server ({provisioner})",
                "storage that does not fail at once",
            )
        yield from _options(f"StorageClass {each.name}", each.props.at("mountOptions").words())


@lru_cache(maxsize=2)
def _media(facts: Facts) -> tuple[tuple[Mount, str], ...]:
    """Returns what the machines of the stack mount that is not a disk, each with the machine's title."""
    found = ((mount, machine.title) for machine in facts.machines for mount in mounts(machine))
    return tuple((mount, machine) for mount, machine in found if mount.medium)


def _server(volume: Volume) -> str:
    """Returns the file or block server that a volume names; "" if it names none, or a cluster such as Ceph."""
    spec = volume.spec
    named = (spec.at("nfs", "server"), spec.at("iscsi", "targetPortal"), spec.at("csi", "volumeAttributes", "server"))
    return next((each.text() for each in named if each.given()), "")


def _path(volume: Volume) -> str:
    """Returns the directory of a volume on its node; "" if it has none."""
    return volume.spec.at("local", "path").text() or volume.spec.at("hostPath", "path").text()


def _of_volume(volume: Volume) -> Iterator[RuleProblem]:
    spec, title = volume.spec, f"volume {volume.name}"
    if spec.at("persistentVolumeReclaimPolicy").text() == "Delete":
        yield RuleProblem(f"{title} has persistentVolumeReclaimPolicy Delete", "Retain")
    modes = spec.at("accessModes").words()
    kinds = [kind for kind in ("nfs", "csi", "rbd", "cephfs", "iscsi", "fc") if spec.at(kind, "readOnly").flag()]
    if kinds or modes == ("ReadOnlyMany",):
        yield RuleProblem(f"{title} is read-only ({join_names(kinds or modes)})", "a writable volume")
    yield from _options(title, spec.at("mountOptions").words())


def _options(title: str, options: tuple[str, ...]) -> Iterator[RuleProblem]:
    for each in options:
        if _NO_BARRIER.search(each):
            yield RuleProblem(f"{title} is mounted with {each}", "write barriers (the default)")
        elif each == "ro":
            yield RuleProblem(f"{title} is mounted read-only", "a writable volume")
