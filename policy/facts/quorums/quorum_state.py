"""Reads the state of a quorum from a stack's resources: its number of members, their eligible nodes, their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

from contract import HOSTNAME
from formats.disk_source import attributes
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.membership import MemberNode, QuorumState
from policy.facts.quorums.quorums import MemberGroup, pods
from policy.facts.stack import Facts
from policy.properties import Properties

DOMAIN_FILE = "domain.xml"


def quorum_state(facts: Facts, group: MemberGroup) -> QuorumState:
    """Returns the state of one quorum (`group`), whose members may be in several workloads.

    Raises NoNodes if the stack describes no node, and NotKnown if a value is not known yet.
    """
    if group.etcd:
        known = {node.name: node for node in facts.places}
        members = {
            each.node: _member_node(known[each.node]) if each.node in known else MemberNode(each.server, each.address)
            for each in group.etcd.members
        }
        return QuorumState(len(members), members)
    nodes: dict[str, MemberNode] = {}
    for workload in group.workloads:
        volumes = _volumes(facts, workload)
        for node in facts.eligible(workload):
            found = _member_node(node, volumes.get(node.name, frozenset()))
            others = nodes[node.name].data if node.name in nodes else frozenset[str]()
            nodes[node.name] = MemberNode(found.server, found.address, found.pool, found.data | others)
    return QuorumState(sum(pods(facts, each) for each in group.workloads), nodes)


def disks(domain: str) -> Mapping[str, str]:
    """Returns the source of each disk in the XML of a libvirt domain, by device.

    If `domain` is not valid XML, returns its whole text, by the name of the file.
    """
    try:
        root = ElementTree.fromstring(domain)  # noqa: S314 - of a program that has just run on this machine
    except ElementTree.ParseError:
        return {DOMAIN_FILE: domain}
    found: dict[str, str] = {}
    for disk in root.iterfind("./devices/disk[@device='disk']"):
        target, source = disk.find("target"), disk.find("source")
        device = "" if target is None else target.get("dev", "")
        found[device] = (
            "" if source is None else " ".join(f"{key}={value}" for key, value in attributes(source).items())
        )
    return found


def pins(domain: str) -> tuple[str, ...]:
    """Returns the sets of CPUs to which a libvirt domain's virtual CPUs and QEMU's threads are pinned.

    Returns () if `domain` is not valid XML.
    """
    try:
        root = ElementTree.fromstring(domain)  # noqa: S314 - of a program that has just run on this machine
    except ElementTree.ParseError:
        return ()
    found = (
        each.get("cpuset", "") for name in ("vcpupin", "emulatorpin") for each in root.iterfind(f"./cputune/{name}")
    )
    return tuple(dict.fromkeys(each for each in found if each))


def _member_node(node: NodeFacts, volumes: frozenset[str] = frozenset()) -> MemberNode:
    text = node.resource.props.at("definition").texts().get(DOMAIN_FILE)
    own = frozenset(f"{device} {source}" for device, source in disks(text).items()) if text else frozenset[str]()
    return MemberNode(node.server or node.name, node.address, node.pool or "", own | volumes)


def _volumes(facts: Facts, workload: Workload) -> Mapping[str, frozenset[str]]:
    """Returns the paths of the local volumes that the workload's claim templates select, by the volume's node."""
    templates = workload.resource.props.at("spec", "volumeClaimTemplates").items()
    selectors = [each.at("spec", "selector", "matchLabels").texts() for each in templates]
    found: dict[str, frozenset[str]] = {}
    for volume in _local_volumes(facts) if any(selectors) else ():
        if any(selector and selector.items() <= volume.labels.items() for selector in selectors):
            for node in volume.nodes:
                found[node] = found.get(node, frozenset()) | {volume.path}
    return found


@dataclass(frozen=True)
class _LocalVolume:
    path: str
    labels: Mapping[str, str]
    nodes: tuple[str, ...]


@lru_cache(maxsize=2)
def _local_volumes(facts: Facts) -> tuple[_LocalVolume, ...]:
    """Returns the stack's PersistentVolumes of type `local`: a directory or a disk of a node."""
    found: list[_LocalVolume] = []
    for resource in facts.resources:
        if kubernetes_kind(resource) != "PersistentVolume":
            continue
        spec = resource.props.at("spec")
        if path := spec.at("local", "path").text():
            labels = resource.props.at("metadata", "labels").texts()
            found.append(_LocalVolume(path, labels, tuple(_host_names(spec))))
    return tuple(found)


def _host_names(volume: Properties) -> Iterator[str]:
    for term in volume.at("nodeAffinity", "required", "nodeSelectorTerms").items():
        for expression in term.at("matchExpressions").items():
            if expression.at("key").text() == HOSTNAME:
                yield from expression.at("values").words()
