"""The placement map as data: racks, servers, nodes, what runs where, and what each server's loss would take away.

Servers of a rack that are alike in everything, and carry no member of a quorum, are one group: a thousand computes are
a few dozen groups.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from audit import losses
from audit.plan import PlanFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.facts.placement_map import Place, Placed, Placement
from policy.findings import Verdict
from policy.wording import pluralize

SMALLEST_GROUP = 2

QUORUMS = {
    "etcd": ("E", "etcd"),
    "mysqld": ("G", "Galera (database)"),
    "rabbitmq": ("R", "RabbitMQ (messages)"),
    "ceph-mon": ("C", "Ceph monitors"),
    "influxdb": ("M", "InfluxDB (metrics)"),
    "elasticsearch-kibana": ("L", "log store"),
    "quorum": ("Q", "another quorum"),
}
"""Kinds of quorum, each with its letter on the map."""


@dataclass(frozen=True)
class Chart:
    """The map of an audit."""

    data: dict[str, Any]
    """What the page draws from."""
    quorums: tuple[str, ...]
    """Kinds of quorum on it."""
    majorities: tuple[str, ...]
    """Sentences: whose loss takes which majority away."""
    restarted: tuple[str, ...]
    """Workloads that the loss of one server may leave without an instance, until one starts on another node."""
    stranded: tuple[str, ...]
    """The same for those that no other node may run."""
    homeless: tuple[str, ...]
    """Nodes that may carry members of quorums, on nobody knows which server."""
    unplaced: tuple[str, ...]
    """Workloads that cannot be drawn on nodes."""


def draw(audit: Audit, plan: PlanFile) -> Chart | None:
    """The map; None where the audit does not know what runs where."""
    if audit.placement is None or not audit.placement.nodes:
        return None
    drawing = _Drawing(audit, audit.placement, plan)
    kinds = {placed.quorum for placed in audit.placement.placed}
    return Chart(
        drawing.data(),
        tuple(kind for kind in QUORUMS if kind in kinds),
        tuple(drawing.majorities()),
        *drawing.outages(),
        tuple(drawing.homeless()),
        tuple(drawing.unplaced()),
    )


class _Drawing:
    """A map while it is drawn."""

    def __init__(self, audit: Audit, placement: Placement, plan: PlanFile) -> None:
        self._audit = audit
        self._placement = placement
        self._where = [
            each.nodes if each.is_certain else plan.nodes_of(each, placement) or () for each in placement.placed
        ]
        self._on_node: dict[int, list[int]] = defaultdict(list)
        for number, nodes in enumerate(self._where):
            for node in nodes:
                self._on_node[node].append(number)
        self._lost = losses.of_servers(placement)
        self._distinct = list(dict.fromkeys(self._lost.values()))
        self._servers: dict[str, list[int]] = defaultdict(list)
        for number, node in enumerate(placement.nodes):
            # A node whose server is not known stands for itself.
            self._servers[node.server or node.name].append(number)
        for nodes in self._servers.values():
            nodes.sort(key=lambda number: _pool_order(placement.nodes[number]))

    def data(self) -> dict[str, Any]:
        """All that the page draws from, as short as it can be: nodes and workloads are named by their numbers."""
        placement = self._placement
        return {
            "rules": [rule.id for rule in RULES],
            "quorums": QUORUMS,
            "placed": [self._placed(each) for each in placement.placed],
            "nodes": [[node.name, node.pool, self._on_node[number]] for number, node in enumerate(placement.nodes)],
            "losses": [
                [[each.placed, each.lost, each.left, each.needs, each.elsewhere] for each in loss]
                for loss in self._distinct
            ],
            "racks": [{"name": rack, "groups": self._groups(names)} for rack, names in self._racks().items()],
        }

    def majorities(self) -> Iterator[str]:
        """Of each server whose loss takes a majority away."""
        for server in sorted(self._lost, key=_natural):
            for loss in self._lost[server]:
                placed = self._placement.placed[loss.placed]
                if placed.quorum and not loss.stands:
                    kept = f"{placed.group or placed.name} may keep {loss.left} of {loss.count} members"
                    yield f"without {server}, {kept}; a majority is {loss.needs}"

    def outages(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Workloads that one server's loss may stop: those that start again elsewhere, those that cannot."""
        found: dict[int, list[bool]] = defaultdict(list)
        for loss in (each for lost in self._lost.values() for each in lost):
            if not self._placement.placed[loss.placed].quorum and not loss.stands:
                found[loss.placed].append(loss.elsewhere)
        names = {number: self._placement.placed[number].service for number in found}
        restarted = sorted(names[number] for number, elsewhere in found.items() if all(elsewhere))
        return tuple(restarted), tuple(sorted(set(names.values()) - set(restarted)))

    def homeless(self) -> list[str]:
        """Nodes without a server that a quorum may use: their loss cannot be judged."""
        used = {node for placed in self._placement.placed if placed.quorum for node in placed.nodes}
        return [self._placement.nodes[node].name for node in sorted(used) if not self._placement.nodes[node].server]

    def unplaced(self) -> Iterator[str]:
        """Of each workload that is on the map's nodes somewhere, nobody knows where."""
        for placed, nodes in zip(self._placement.placed, self._where, strict=True):
            if not nodes:
                yield f"{placed.name}: {pluralize(placed.count, 'instance')}, {len(placed.nodes)} nodes may run it"

    def _placed(self, placed: Placed) -> dict[str, Any]:
        return {
            "name": placed.name,
            "service": placed.service,
            "group": placed.group,
            "quorum": placed.quorum,
            "count": placed.count,
            "certain": placed.is_certain,
            "choice": len(placed.nodes),
            "rules": self._verdicts.get(placed.resource, []),
        }

    @cached_property
    def _verdicts(self) -> dict[str, list[list[Any]]]:
        """Rules that have judged a resource, each with the worst that it said, by the resource's URN."""
        numbers = {rule.id: number for number, rule in enumerate(RULES)}
        found: dict[str, dict[int, Verdict]] = defaultdict(dict)
        for finding in self._audit.findings:  # the gravest first within a rule
            if finding.verdict is not Verdict.NOT_APPLICABLE:
                found[finding.resource].setdefault(numbers[finding.rule], finding.verdict)
        return {urn: [[rule, str(verdict)] for rule, verdict in said.items()] for urn, said in found.items()}

    def _racks(self) -> dict[str, list[str]]:
        """Servers by rack, both in natural order."""
        found: dict[str, set[str]] = defaultdict(set)
        for node in self._placement.nodes:
            found[node.rack].add(node.server or node.name)
        return {rack: sorted(found[rack], key=_natural) for rack in sorted(found, key=_natural)}

    def _groups(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """A rack's servers; many alike as one group, after those that stand alone."""
        alike: dict[object, list[str]] = defaultdict(list)
        for name in names:
            alike[self._look(name)].append(name)
        groups = [
            together
            for group in alike.values()
            for together in ([group] if len(group) >= SMALLEST_GROUP else [[name] for name in group])
        ]
        rows = [
            {
                "servers": [[name, self._servers[name]] for name in group],
                "loss": self._distinct.index(self._lost[group[0]]) if group[0] in self._lost else -1,
            }
            for group in groups
        ]
        return sorted(rows, key=lambda row: len(row["servers"]))

    def _look(self, name: str) -> object:
        """What must be alike for two servers to be drawn as one; members of quorums are drawn each by itself."""
        nodes = self._servers[name]
        if any(self._placement.placed[each].quorum for node in nodes for each in self._on_node[node]):
            return name
        look = tuple((self._placement.nodes[node].pool, tuple(self._on_node[node])) for node in nodes)
        return look, self._lost.get(name)


def _pool_order(node: Place) -> tuple[bool, bool, str, str]:
    """Masters first, what every server has last."""
    return node.pool != "master", node.pool in ("compute", "storage"), node.pool, node.name


def _natural(name: str) -> list[tuple[int, str]]:
    """r2 before r10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
