"""Which nodes each workload may use, and the physical host of every node, read from the resources.

The pack writes this beside its verdicts (record.py), and the audit draws its map from it. What cannot be known in a
preview is named, and left out of the map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from contract import HOSTNAME, RACK, SERVER, ZONE
from policy.facts.components import Etcd
from policy.facts.kubernetes.node import Node
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import Quorum, group_of, is_member, quorum_of
from policy.facts.stack import Facts


@dataclass(frozen=True)
class Place:
    """A node."""

    name: str
    server: str
    """The physical host; empty where no label says it."""
    rack: str
    pool: str


@dataclass(frozen=True)
class Placed:
    """Instances of one workload, or members of one etcd."""

    resource: str
    """URN."""
    name: str
    service: str
    row: str
    quorum: str
    """Kind of the quorum whose members they are; empty where they are none."""
    count: int
    everywhere: bool
    """One on each of its nodes, however many there are."""
    apart: tuple[str, ...]
    """What no two of them share, of `rack`, `server` and `node`."""
    group: str = ""
    """The quorum's members by name, where several workloads are one quorum: the same text in each of them."""
    between: tuple[str, ...] = ()
    """What no two members of different workloads of the group share, of `rack`, `server` and `node`."""
    nodes: tuple[int, ...] = ()
    """Numbers of the nodes that they may run on."""

    @property
    def is_certain(self) -> bool:
        """Whether there is only one way to place them: one on each of these nodes."""
        return self.count == len(self.nodes) and bool(self.apart)


@dataclass(frozen=True)
class Placement:
    """The whole of it."""

    nodes: tuple[Place, ...]
    placed: tuple[Placed, ...]
    unknown: tuple[str, ...] = ()
    """What could not be read, and why."""

    def to_json(self) -> dict[str, Any]:
        """Short: a thousand computes are a thousand rows."""
        return {
            "nodes": [[each.name, each.server, each.rack, each.pool] for each in self.nodes],
            "placed": [{**vars(each), "nodes": _ranges(each.nodes)} for each in self.placed],
            "unknown": list(self.unknown),
        }

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Placement:
        """The same read back. ValueError, KeyError or TypeError if it is incomplete."""
        rows: list[dict[str, Any]] = written["placed"]
        placed = (
            Placed(
                **dict[str, Any](
                    each, nodes=_numbers(each["nodes"]), apart=tuple(each["apart"]), between=tuple(each["between"])
                )
            )
            for each in rows
        )
        return cls(tuple(Place(*each) for each in written["nodes"]), tuple(placed), tuple(written["unknown"]))


def read(facts: Facts) -> Placement:
    """What may run where in this stack."""
    unknown: list[str] = []
    places: list[Place] = []
    try:
        nodes = sorted(facts.nodes, key=lambda node: node.name)
    except Exception as reason:  # the map contains the reason, and the rules report it
        return Placement((), (), (f"the nodes: {reason}",))
    for node in nodes:
        try:
            places.append(_place(node))
        except Exception as reason:
            places.append(Place(node.name, "", "", ""))
            unknown.append(f"{node.title}: {reason}")
    numbers = {place.name: number for number, place in enumerate(places)}
    placed: list[Placed] = []
    for each in _placeable(facts, unknown):
        try:
            placed.append(_members(each, numbers) if isinstance(each, Etcd) else instances(facts, each, numbers))
        except Exception as reason:
            unknown.append(f"{each.title}: {reason}")
    # The engine hands resources over in any order.
    return Placement(tuple(places), tuple(sorted(placed, key=lambda each: each.resource)), tuple(sorted(unknown)))


def _place(node: Node) -> Place:
    return Place(node.name, node.server or "", node.rack or "", node.pool or "")


@lru_cache(maxsize=2)
def places(facts: Facts) -> tuple[Place, ...]:
    """The stack's nodes in order of their names. Raises NotKnown if a label is not known yet."""
    return tuple(_place(node) for node in sorted(facts.nodes, key=lambda node: node.name))


def _placeable(facts: Facts, unknown: list[str]) -> Sequence[Etcd | Workload]:
    try:
        return (*facts.etcds, *(each for each in facts.workloads if each.is_long_running))
    except Exception as reason:
        unknown.append(f"the workloads: {reason}")
        return ()


def _members(etcd: Etcd, numbers: dict[str, int]) -> Placed:
    names = {member.node for member in etcd.members}
    nodes = tuple(sorted(numbers[name] for name in names if name in numbers))
    return Placed(
        resource=etcd.resource.urn,
        name=etcd.resource.name,
        service="etcd",
        row="",
        quorum=str(Quorum.ETCD),
        count=len(names),
        everywhere=False,
        apart=("node",),
        nodes=nodes,
    )


def instances(facts: Facts, workload: Workload, numbers: Mapping[str, int]) -> Placed:
    """Where a workload's pods may run; `numbers` are those of the nodes by name."""
    nodes = tuple(sorted(numbers[node.name] for node in facts.eligible(workload)))
    quorum = quorum_of(workload) or ("quorum" if is_member(facts, workload) else "")
    mates = _mates(facts, workload) if quorum else ()
    on_each = workload.replicas is None or bool(workload.host_ports)
    return Placed(
        resource=workload.resource.urn,
        name=workload.resource.name,
        service=facts.service(workload) or workload.resource.name,
        row=workload.row or "",
        quorum=str(quorum),
        count=len(nodes) if workload.replicas is None else workload.replicas,
        everywhere=workload.replicas is None,
        apart=_apart(facts, [(workload, workload)], on_each=on_each),
        group=", ".join(sorted(each.resource.name for each in mates)),
        between=_apart(facts, list(combinations(mates, 2))) if mates else (),
        nodes=nodes,
    )


_TOPOLOGIES = (("rack", RACK), ("server", SERVER), ("node", HOSTNAME))


def _apart(facts: Facts, pairs: Sequence[tuple[Workload, Workload]], *, on_each: bool = False) -> tuple[str, ...]:
    """The topologies whose domains no pair may share."""
    return tuple(
        name
        for name, label in _TOPOLOGIES
        if (on_each and name == "node") or all(_is_apart(facts, one, other, label) for one, other in pairs)
    )


def _is_apart(facts: Facts, one: Workload, other: Workload, label: str) -> bool:
    if facts.is_anti_affine(one, other, label):
        return True
    if label != RACK or not facts.is_anti_affine(one, other, ZONE):
        return False
    return all(node.labels.get(ZONE) == node.rack for each in (one, other) for node in facts.eligible(each))


def _mates(facts: Facts, workload: Workload) -> tuple[Workload, ...]:
    """The workloads of its quorum, where there are several."""
    group = group_of(facts, workload)
    if group.error:
        raise group.error
    return group.workloads if len(group.workloads) > 1 else ()


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order as first and last of each run."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _numbers(runs: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(number for first, last in runs for number in range(first, last + 1))
