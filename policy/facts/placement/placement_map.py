"""Reads the placement of a stack: each workload's eligible nodes, and the constraints that keep its pods apart.

The policy pack records the placement together with its verdicts (record.py), and the audit report draws the placement
map from this record. Workloads and nodes whose placement a preview does not know are listed as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any

from contract import HOSTNAME, RACK, SERVER
from policy.facts.components import EtcdFacts
from policy.facts.kubernetes import scheduling
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.terms import SpreadTerm
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.worst_case import Spread, Topologies
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import group_of, is_member, pods, quorum_of
from policy.facts.stack import Facts


@dataclass(frozen=True)
class NodePlace:
    """A node with its physical host, rack and pool."""

    name: str
    server: str
    """The physical host, by the node's label; "" without this label."""
    rack: str
    pool: str


@dataclass(frozen=True)
class Placed:
    """The instances of one workload, or the members of one etcd cluster, with their eligible nodes."""

    resource: str
    """URN of the workload, or of the etcd cluster's component."""
    name: str
    service: str
    row: str
    quorum: str
    """Kind of the quorum that the instances are members of; empty if they are not members."""
    count: int
    everywhere: bool
    """Whether one instance runs on each eligible node, as with a DaemonSet."""
    apart: tuple[str, ...]
    """Label keys, such as the rack's, whose value no two instances share (by anti-affinity or host ports). The key with
    the fewest different values among the eligible nodes is first."""
    group: str = ""
    """Names of the workloads that form one quorum together with this one, itself included; "" if it is the only one."""
    between: tuple[str, ...] = ()
    """Label keys of which no two members in different workloads of the quorum share a value."""
    spreads: tuple[Spread, ...] = ()
    """The workload's required topology spread constraints."""
    nodes: tuple[int, ...] = ()
    """Indexes of the eligible nodes in `PlacementMap.nodes`."""

    @property
    def is_certain(self) -> bool:
        """Whether only one placement is possible: one instance on each eligible node."""
        return self.count == len(self.nodes) and bool(self.apart)


@dataclass(frozen=True)
class PlacementMap:
    """The nodes and workloads of a stack, with the labels and constraints that limit where pods can run."""

    nodes: tuple[NodePlace, ...]
    placed: tuple[Placed, ...]
    unknown: tuple[str, ...] = ()
    """The nodes and workloads that could not be read, each with the reason, for messages."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Labels other than host name, server and rack that limit placement: by key, the value on each node or ""."""

    @property
    def topologies(self) -> Topologies:
        """The labels that limit placement: by key, the value on each node, in the order of `nodes`."""
        return {
            HOSTNAME: [each.name for each in self.nodes],
            SERVER: [each.server for each in self.nodes],
            RACK: [each.rack for each in self.nodes],
            **self.labels,
        }

    def to_json(self) -> dict[str, Any]:
        """Returns the placement as JSON, in a compact form that suits a thousand nodes."""
        return {
            "nodes": [[each.name, each.server, each.rack, each.pool] for each in self.nodes],
            "placed": [
                {**vars(each), "nodes": _ranges(each.nodes), "spreads": [vars(spread) for spread in each.spreads]}
                for each in self.placed
            ],
            "unknown": list(self.unknown),
            "labels": dict(self.labels),
        }

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> PlacementMap:
        """Reads a placement that `to_json` wrote. Raises ValueError, KeyError or TypeError if it is incomplete."""
        return cls(
            tuple(NodePlace(*each) for each in written["nodes"]),
            tuple(_placed(each) for each in written["placed"]),
            tuple(written["unknown"]),
            {key: tuple(values) for key, values in written["labels"].items()},
        )


def _placed(row: Mapping[str, Any]) -> Placed:
    spreads = (Spread(**dict[str, Any](each, counts=tuple(each["counts"]))) for each in row["spreads"])
    read: dict[str, Any] = {
        **row,
        "nodes": _numbers(row["nodes"]),
        "apart": tuple(row["apart"]),
        "between": tuple(row["between"]),
        "spreads": tuple(spreads),
    }
    return Placed(**read)


def read(facts: Facts) -> PlacementMap:
    """Reads the placement of a stack. Nodes and workloads that cannot be read are listed in `PlacementMap.unknown`."""
    unknown: list[str] = []
    places: list[NodePlace] = []
    try:
        nodes = sorted(facts.places, key=lambda node: node.name)
    except Exception as reason:  # the map contains the reason, and the rules report it
        return PlacementMap((), (), (f"the nodes: {reason}",))
    for node in nodes:
        try:
            places.append(_place(node))
        except Exception as reason:
            places.append(NodePlace(node.name, "", "", ""))
            unknown.append(f"{node.title}: {reason}")
    numbering = Numbering(nodes)
    placed: list[Placed] = []
    for each in _placeable(facts, unknown):
        try:
            placed.append(
                _members(each, numbering) if isinstance(each, EtcdFacts) else instances(facts, each, numbering)
            )
        except Exception as reason:
            unknown.append(f"{each.title}: {reason}")
    # The engine hands resources over in any order.
    placed.sort(key=lambda each: each.resource)
    return PlacementMap(tuple(places), tuple(placed), tuple(sorted(unknown)), _further_labels(placed, numbering))


def _further_labels(placed: Iterable[Placed], numbering: Numbering) -> dict[str, tuple[str, ...]]:
    used = {key for each in placed for key in (*each.apart, *each.between, *(one.topology for one in each.spreads))}
    return {key: tuple(numbering.topologies[key]) for key in sorted(used - {HOSTNAME, SERVER, RACK})}


def _place(node: NodeFacts) -> NodePlace:
    return NodePlace(node.name, node.server or "", node.rack or "", node.pool or "")


class Numbering:
    """Numbers the nodes of a stack in the order of their names. `topologies`: label values by key, then by number."""

    def __init__(self, nodes: Iterable[NodeFacts]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.numbers = {node.name: number for number, node in enumerate(self.nodes)}
        self.topologies: Topologies = _Labels(self.nodes)


class _Labels(dict[str, Sequence[str]]):
    """Values of node labels by key. A value is read on access, so that an unknown value raises NotKnown only then."""

    def __init__(self, nodes: Sequence[NodeFacts]) -> None:
        self._nodes = nodes

    def __missing__(self, key: str) -> Sequence[str]:
        self[key] = _Values(self._nodes, key)
        return self[key]


class _Values(Sequence[str]):
    """Values of one label on each node, "" on nodes without it. A value is read on access."""

    def __init__(self, nodes: Sequence[NodeFacts], key: str) -> None:
        self._nodes = nodes
        self._key = key
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, number: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - no slices here
        if number not in self._known:
            self._known[number] = self._nodes[number].labels.get(self._key, "")
        return self._known[number]


def _placeable(facts: Facts, unknown: list[str]) -> Sequence[EtcdFacts | Workload]:
    try:
        return (*facts.etcds, *(each for each in facts.workloads if each.is_long_running))
    except Exception as reason:
        unknown.append(f"the workloads: {reason}")
        return ()


def _members(etcd: EtcdFacts, numbering: Numbering) -> Placed:
    names = {member.node for member in etcd.members}
    nodes = tuple(sorted(numbering.numbers[name] for name in names if name in numbering.numbers))
    return Placed(
        resource=etcd.resource.urn,
        name=etcd.resource.name,
        service="etcd",
        row="",
        quorum=str(QuorumKind.ETCD),
        count=len(names),
        everywhere=False,
        apart=(HOSTNAME,),
        nodes=nodes,
    )


def instances(facts: Facts, workload: Workload, numbering: Numbering) -> Placed:
    """Returns a workload's eligible nodes, and the constraints that keep its pods apart."""
    nodes = tuple(sorted(numbering.numbers[node.name] for node in facts.eligible(workload)))
    quorum = quorum_of(workload) or ("quorum" if is_member(facts, workload) else "")
    mates = _mates(facts, workload) if quorum else ()
    return Placed(
        resource=workload.resource.urn,
        name=workload.resource.name,
        service=facts.service(workload) or workload.resource.name,
        row=workload.row or "",
        quorum=str(quorum),
        count=len(nodes) if workload.replicas is None else workload.replicas,
        everywhere=workload.replicas is None,
        apart=_coarse_first(apart_keys(facts, workload), nodes, numbering),
        group=", ".join(sorted(each.resource.name for each in mates)),
        between=_between(facts, mates) if mates else (),
        spreads=() if workload.past_scheduler else tuple(_spreads(facts, workload)),
        nodes=nodes,
    )


def apart_keys(facts: Facts, workload: Workload) -> tuple[str, ...]:
    """Returns the label keys of which no two pods of a workload share a value, by anti-affinity or host ports."""
    on_each = workload.replicas is None or bool(workload.host_ports)
    keys = facts.anti_affine_keys(workload, workload)
    return (*keys, HOSTNAME) if on_each and HOSTNAME not in keys else keys


def _coarse_first(keys: Sequence[str], nodes: Sequence[int], numbering: Numbering) -> tuple[str, ...]:
    def domains(key: str) -> tuple[int, str]:
        values = numbering.topologies[key]
        return len({values[node] for node in nodes}), key

    return tuple(sorted(keys, key=domains))


@lru_cache(maxsize=256)
def _between(facts: Facts, mates: tuple[Workload, ...]) -> tuple[str, ...]:
    """Returns the label keys of which no two pods in different workloads among these share a value."""
    keys: set[str] | None = None
    for one, other in combinations(mates, 2):
        here = set(facts.anti_affine_keys(one, other))
        if scheduling.share_host_port(one, other):
            here.add(HOSTNAME)
        keys = here if keys is None else keys & here
        if not keys:
            break
    return tuple(sorted(keys or ()))


def _spreads(facts: Facts, workload: Workload) -> Iterable[Spread]:
    return (_spread(facts, workload, each) for each in workload.spreads if scheduling.counts(each, workload, workload))


def _spread(facts: Facts, workload: Workload, term: SpreadTerm) -> Spread:
    counted = [each for each in facts.workloads if scheduling.counts(term, workload, each)]
    domains = {
        node.labels[term.topology]
        for node in facts.nodes
        if (not term.honors_affinity or scheduling.attracts(workload, node))
        and (not term.honors_taints or scheduling.tolerates(workload, node.barriers))
        and all(each.topology in node.labels for each in workload.spreads)
    }
    reached = {node.labels.get(term.topology) for each in counted for node in facts.eligible(each)}
    return Spread(
        term.topology,
        term.skew,
        max(1, len(domains)),
        rises=len(domains) >= term.min_domains and domains <= reached,
        counts=tuple(sorted(each.resource.urn for each in counted)),
        pods=sum(pods(facts, each) for each in counted),
    )


def _mates(facts: Facts, workload: Workload) -> tuple[Workload, ...]:
    """Returns all workloads of the quorum that `workload` belongs to; () if the quorum has only this workload."""
    group = group_of(facts, workload)
    if group.error:
        raise group.error
    return group.workloads if len(group.workloads) > 1 else ()


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Compresses sorted numbers to ranges: [first, last] of each run of consecutive numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _numbers(runs: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(number for first, last in runs for number in range(first, last + 1))
