"""Reads one of two compared previews: its machines, workloads and quorums, by keys that are equal in both previews.

The key of a machine is its node's name, the key of a workload its kind, namespace and name, because these identify them
in the cluster. A workload whose Pulumi resource has another name is reported as replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from contract import ETCD_ROLE, TREE
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.workload import Workload
from policy.facts.membership import QuorumState
from policy.facts.quorums.quorum_state import DOMAIN_FILE, disks, quorum_state
from policy.facts.quorums.quorums import MemberGroup, groups, is_member, majority
from policy.facts.stack import Facts, NoNodes
from policy.resource import Resource

Props = dict[str, Any]

_ENGINE_S_OWN = frozenset({"__provider", "__internal", "__defaults"})
"""Properties that do not describe the stack: Pulumi's internal properties, and a dynamic provider's pickled code."""


@dataclass(frozen=True)
class ComparedMachine:
    """A machine and its node, with the properties of its resource."""

    node: NodeFacts
    props: Mapping[str, Any]
    tree: Mapping[str, Any]
    """Properties of the resource with the machine's rendered files (Tree); empty if the stack renders none."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def resource(self) -> str:
        """URN of the machine's resource; identical workers share one resource."""
        return self.node.resource.urn

    @property
    def server(self) -> str:
        return self.node.server or ""

    @property
    def pool(self) -> str:
        return self.node.pool or ""

    @property
    def is_of_etcd(self) -> bool:
        """Whether it has a member of etcd only, and is not a Kubernetes node."""
        return self.props.get("pool") == ""

    @property
    def group(self) -> str:
        """Its pool, or the role `etcd` of machines without one; "none" if it has neither."""
        return self.pool or (ETCD_ROLE if self.is_of_etcd else "none")

    @property
    def is_virtual(self) -> bool:
        return bool(self.props.get("virtual"))

    @cached_property
    def size(self) -> str:
        """The cores and memory that pods may use on the machine, in words; "" if they are not known."""
        room = cast("Mapping[str, Any]", self.props.get("allocatable") or {})
        cpu, memory = room.get("cpu"), room.get("memory")
        return "" if cpu is None and memory is None else f"{_whole(cpu)} cores, {_whole(memory)} GiB"

    @property
    def files(self) -> Mapping[str, str]:
        """Texts of the machine's files, steps and definition, by path; templates for workers that share a resource."""
        return machine_texts(self.props, self.tree)

    @cached_property
    def place(self) -> Mapping[str, str]:
        """Address, server and rack of a machine in a pool, which differ within the pool; {} for a single machine."""
        return pool_nodes(self.props).get(self.name, {})

    @cached_property
    def disks(self) -> Mapping[str, str]:
        """Source of each disk of a virtual machine, by device; {} for a physical machine."""
        text = self.files.get(f"definition/{DOMAIN_FILE}")
        return {} if text is None else disks(text)

    def renamed(self, name: str) -> Mapping[str, Any]:
        """Returns the machine's properties with its name replaced by `name`."""
        return cast("Mapping[str, Any]", _renamed(self.props, self.name, name))


@dataclass(frozen=True)
class ComparedQuorum:
    """A quorum in one of the compared previews: its members and their eligible nodes."""

    key: str
    """Identifies the quorum; it is equal in both previews."""
    title: str
    state: QuorumState
    resource: str
    workloads: tuple[Workload, ...]
    """The workloads whose pods are members; none if the members are machines."""

    @property
    def size(self) -> int:
        return self.state.members

    @property
    def nodes(self) -> frozenset[str]:
        """Names of the nodes that are eligible for the quorum's members; there can be more nodes than members."""
        return frozenset(self.state.nodes)

    @property
    def majority(self) -> int:
        return majority(self.size)

    @property
    def complete(self) -> str:
        """The state, in words, that the quorum must have before a member is stopped: all members are up."""
        return f"{self.title}: all {self.size} members up (a majority is {self.majority})"


class Side:
    """One of two compared previews: its resources as facts, and their properties as plain data by URN."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.plain = {each.urn: _without(each.plain()) for each in facts.resources}
        self.resources = {each.urn: each for each in facts.resources}

    @cached_property
    def machines(self) -> Mapping[str, ComparedMachine]:
        """Machines by the name of their node."""
        trees = trees_by_machine(self.resources)
        return {
            node.name: ComparedMachine(node, self.plain[urn], self.plain[trees[urn]] if urn in trees else {})
            for node in self.facts.places
            for urn in (node.resource.urn,)
        }

    @cached_property
    def workloads(self) -> Mapping[str, Workload]:
        """Workloads by kind, namespace and name."""
        return {identity(each): each for each in self.facts.workloads}

    def pools(self, workload: Workload) -> tuple[str, ...]:
        """Pools whose nodes can run the workload's pods; empty if the stack describes no node."""
        return tuple(sorted({node.pool or node.name for node in self._eligible(workload)}))

    @cached_property
    def quorums(self) -> Mapping[str, ComparedQuorum]:
        """The quorums of the preview, by key."""
        found: dict[str, ComparedQuorum] = {}
        for number, group in enumerate(groups(self.facts)):
            if group.etcd:
                # The key is the position, because most stacks have only one etcd, and its component may be renamed.
                key, title = f"etcd {number}", "etcd"
            elif any(is_member(self.facts, each) for each in group.workloads):
                first, *others = group.workloads
                # A quorum of several workloads, one for each member, keeps its key when a workload is added or removed.
                key = f"{group.kind} {first.namespace}" if others else identity(first)
                title = group.title if others else title_of(first)
            else:
                continue
            if key in found:  # two clusters of one kind
                key = f"{key} {identity(group.workloads[0])}" if group.workloads else key
            found[key] = ComparedQuorum(key, title, self._state(group), group.resource.urn, group.workloads)
        return found

    def _state(self, group: MemberGroup) -> QuorumState:
        try:
            return quorum_state(self.facts, group)
        except NoNodes:
            return QuorumState(sum(each.replicas or 0 for each in group.workloads), {})

    def quorum_of(self, workload: Workload) -> ComparedQuorum | None:
        """Returns the quorum whose members are the workload's pods; None if they are not quorum members."""
        return next((each for each in self.quorums.values() if workload in each.workloads), None)

    def quorums_on(self, names: Iterable[str]) -> list[ComparedQuorum]:
        """Returns the quorums that have, or can have, a member on one of these nodes. `names`: names of the nodes."""
        asked = frozenset(names)
        return [each for _, each in sorted(self.quorums.items()) if each.nodes & asked]

    def _eligible(self, workload: Workload) -> tuple[NodeFacts, ...]:
        try:
            return self.facts.eligible(workload)
        except NoNodes:
            return ()


def trees_by_machine(urns: Iterable[str]) -> dict[str, str]:
    """Returns the URN of each Tree resource (the rendered files of a machine), by the URN of the machine's resource."""
    child = f"${TREE}::"
    return {urn.replace(child, "::").removesuffix("-tree"): urn for urn in urns if child in urn}


def pool_nodes(props: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """Returns address, server and rack of each machine in a pool, by node; {} for a single machine's properties."""
    return _parsed(str(props.get("nodes") or "[]"))


@cache
def _parsed(table: str) -> Mapping[str, Mapping[str, str]]:
    """Parses the JSON list of a pool's machines. Cached, because each machine of the pool reads the same list."""
    return {each["node"]: each for each in json.loads(table)}


def machine_texts(props: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, str]:
    """Returns the texts of a machine's files, steps and definition, by their path among its rendered files.

    `props`, `tree`: properties of the machine's resource, and of the resource with its rendered files.
    """
    files = cast("Mapping[str, str]", props.get("files") or {})
    definition = cast("Mapping[str, str]", props.get("definition") or {})
    rendered = cast("Mapping[str, str]", tree.get("files") or {})
    return {
        **{f"root/{path.removeprefix('/')}": text for path, text in files.items()},
        **{path: text for path, text in rendered.items() if not path.startswith(("root/", "definition/"))},
        **{f"definition/{name}": text for name, text in definition.items()},
    }


def identity(workload: Workload) -> str:
    """Returns kind, namespace and name of a workload as a text, which identifies it in a cluster."""
    return f"{workload.kind} {workload.namespace}/{object_name(workload.resource)}"


def title_of(workload: Workload) -> str:
    """Returns kind and name of a workload, for messages."""
    return f"{workload.kind} {object_name(workload.resource)}"


def object_name(resource: Resource) -> str:
    """Returns an object's metadata.name; the resource's name if Pulumi generates the object's name from it."""
    return resource.props.at("metadata", "name").text(resource.name)


def _without(props: Props) -> Props:
    return {key: value for key, value in props.items() if key not in _ENGINE_S_OWN}


def _whole(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _renamed(value: object, old: str, new: str) -> object:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: _renamed(item, old, new) for key, item in cast("Props", value).items()}
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in cast("list[object]", value)]
    return value
