"""One of two compared previews: its machines, workloads and quorums, by keys that are the same in both previews.

A machine is identified by its node's name and a workload by kind, namespace and name, because these identify them in
the cluster. A changed name of a Pulumi resource is reported as a change of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from contract import TREE
from policy.facts.kubernetes.node import Node
from policy.facts.kubernetes.workload import Workload
from policy.facts.membership import QuorumState
from policy.facts.quorum_state import DOMAIN_FILE, disks, quorum_state
from policy.facts.quorums import Group, groups, is_member, majority
from policy.facts.resource import Resource
from policy.facts.stack import Facts, NoNodes

Props = dict[str, Any]

_ENGINE_S_OWN = frozenset({"__provider", "__internal", "__defaults"})
"""Properties that do not describe the stack: the engine's own, and the provider's pickled code."""


@dataclass(frozen=True)
class Machine:
    """A machine and its node, with the properties of its resource."""

    node: Node
    props: Mapping[str, Any]
    tree: Mapping[str, Any]
    """The properties of its rendered tree; empty if the target renders none."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def resource(self) -> str:
        """URN of its resource, which identical workers share."""
        return self.node.resource.urn

    @property
    def server(self) -> str:
        return self.node.server or ""

    @property
    def pool(self) -> str:
        return self.node.pool or ""

    @property
    def is_virtual(self) -> bool:
        return bool(self.props.get("virtual"))

    @cached_property
    def size(self) -> str:
        """Cores and memory that pods may use; "" if unknown."""
        room = cast("Mapping[str, Any]", self.props.get("allocatable") or {})
        cpu, memory = room.get("cpu"), room.get("memory")
        return "" if cpu is None and memory is None else f"{_whole(cpu)} cores, {_whole(memory)} GiB"

    @property
    def files(self) -> Mapping[str, str]:
        """Texts of its files, steps and definition, by path. Workers that share a resource have templates."""
        return machine_texts(self.props, self.tree)

    @cached_property
    def place(self) -> Mapping[str, str]:
        """The machine's own values within its pool: address, server, rack. Empty for a machine outside a pool."""
        return pool_nodes(self.props).get(self.name, {})

    @cached_property
    def disks(self) -> Mapping[str, str]:
        """Its virtual disks by device, each with its source."""
        text = self.files.get(f"definition/{DOMAIN_FILE}")
        return {} if text is None else disks(text)

    def renamed(self, name: str) -> Mapping[str, Any]:
        """Its properties with its name replaced by another."""
        return cast("Mapping[str, Any]", _renamed(self.props, self.name, name))


@dataclass(frozen=True)
class Quorum:
    """A quorum: its members and their eligible nodes."""

    key: str
    """The same in both previews."""
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
        """The nodes that are eligible for its members; there can be more nodes than members."""
        return frozenset(self.state.nodes)

    @property
    def majority(self) -> int:
        return majority(self.size)

    @property
    def complete(self) -> str:
        """The state that is required before a member is stopped."""
        return f"{self.title}: all {self.size} members up (a majority is {self.majority})"


class Side:
    """A preview's resources as facts, and as plain data by URN."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.plain = {each.urn: _without(each.plain()) for each in facts.resources}
        self.resources = {each.urn: each for each in facts.resources}

    @cached_property
    def machines(self) -> Mapping[str, Machine]:
        """Machines by the name of their node."""
        trees = trees_by_machine(self.resources)
        return {
            node.name: Machine(node, self.plain[urn], self.plain[trees[urn]] if urn in trees else {})
            for node in self.facts.nodes
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
    def quorums(self) -> Mapping[str, Quorum]:
        """Every quorum by its key."""
        found: dict[str, Quorum] = {}
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
            found[key] = Quorum(key, title, self._state(group), group.resource.urn, group.workloads)
        return found

    def _state(self, group: Group) -> QuorumState:
        try:
            return quorum_state(self.facts, group)
        except NoNodes:
            return QuorumState(sum(each.replicas or 0 for each in group.workloads), {})

    def quorum_of(self, workload: Workload) -> Quorum | None:
        """The quorum whose members are the workload's pods."""
        return next((each for each in self.quorums.values() if workload in each.workloads), None)

    def quorums_on(self, names: Iterable[str]) -> list[Quorum]:
        """Quorums that have, or can have, a member on these nodes."""
        asked = frozenset(names)
        return [each for _, each in sorted(self.quorums.items()) if each.nodes & asked]

    def _eligible(self, workload: Workload) -> tuple[Node, ...]:
        try:
            return self.facts.eligible(workload)
        except NoNodes:
            return ()


def trees_by_machine(urns: Iterable[str]) -> dict[str, str]:
    """URN of each rendered tree by the URN of its machine, which is its parent."""
    child = f"${TREE}::"
    return {urn.replace(child, "::").removesuffix("-tree"): urn for urn in urns if child in urn}


def pool_nodes(props: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """The values of each machine of a pool, by node; empty if the properties are those of a single machine."""
    return _parsed(str(props.get("nodes") or "[]"))


@cache
def _parsed(table: str) -> Mapping[str, Mapping[str, str]]:
    """Parses the table of a pool. Cached, because every machine of the pool reads the same table."""
    return {each["node"]: each for each in json.loads(table)}


def machine_texts(props: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, str]:
    """Texts of a machine's files, steps and definition, by path in its rendered tree."""
    files = cast("Mapping[str, str]", props.get("files") or {})
    definition = cast("Mapping[str, str]", props.get("definition") or {})
    rendered = cast("Mapping[str, str]", tree.get("files") or {})
    return {
        **{f"root/{path.removeprefix('/')}": text for path, text in files.items()},
        **{path: text for path, text in rendered.items() if not path.startswith(("root/", "definition/"))},
        **{f"definition/{name}": text for name, text in definition.items()},
    }


def identity(workload: Workload) -> str:
    """Kind, namespace and name of a workload, which identify it in a cluster."""
    return f"{workload.kind} {workload.namespace}/{object_name(workload.resource)}"


def title_of(workload: Workload) -> str:
    """Kind and name of a workload, for messages."""
    return f"{workload.kind} {object_name(workload.resource)}"


def object_name(resource: Resource) -> str:
    """The object's name; the resource's name if the engine generates the object's name."""
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
