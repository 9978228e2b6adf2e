"""The placement map as data: racks, servers, nodes, their workloads, and the effect of each server's failure.

Identical servers of a rack without a member of a quorum form one group, so that a thousand computes are a few dozen
groups.
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
    """The placement map of an audit: which workloads run on which server."""

    data: dict[str, Any]
    """The data for the script of the page."""
    quorums: tuple[str, ...]
    """Kinds of quorum on the map."""
    majorities: tuple[str, ...]
    """A sentence for each server whose failure costs a quorum its majority."""
    restarted: tuple[str, ...]
    """Services that one server's failure can leave without an instance until one starts on another node."""
    stranded: tuple[str, ...]
    """Services that one server's failure can leave without an instance and without enough eligible nodes."""
    homeless: tuple[str, ...]
    """Nodes without a server label that are eligible for quorum members."""
    unplaced: tuple[str, ...]
    """Workloads without a position on the map."""


def draw(audit: Audit, plan: PlanFile) -> Chart | None:
    """Returns the map; None if the audit does not contain the placement."""
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
    """Computes the parts of a map."""

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
            # A node without a known server counts as a server of its own.
            self._servers[node.server or node.name].append(number)
        for nodes in self._servers.values():
            nodes.sort(key=lambda number: _pool_order(placement.nodes[number]))

    def data(self) -> dict[str, Any]:
        """The data for the page. To keep them short, nodes and workloads are numbers."""
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
        """A sentence for each server whose failure costs a quorum its majority."""
        for server in sorted(self._lost, key=_natural):
            for loss in self._lost[server]:
                placed = self._placement.placed[loss.placed]
                if placed.quorum and not loss.stands:
                    kept = f"{placed.group or placed.name} may keep {loss.left} of {loss.count} members"
                    yield f"without {server}, {kept}; a majority is {loss.needs}"

    def outages(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Services that one server's failure can stop: those that fit on other eligible nodes, and the others."""
        found: dict[int, list[bool]] = defaultdict(list)
        for loss in (each for lost in self._lost.values() for each in lost):
            if not self._placement.placed[loss.placed].quorum and not loss.stands:
                found[loss.placed].append(loss.elsewhere)
        names = {number: self._placement.placed[number].service for number in found}
        restarted = sorted(names[number] for number, elsewhere in found.items() if all(elsewhere))
        return tuple(restarted), tuple(sorted(set(names.values()) - set(restarted)))

    def homeless(self) -> list[str]:
        """Nodes without a server label that are eligible for quorum members. The effect of their failure is unknown."""
        used = {node for placed in self._placement.placed if placed.quorum for node in placed.nodes}
        return [self._placement.nodes[node].name for node in sorted(used) if not self._placement.nodes[node].server]

    def unplaced(self) -> Iterator[str]:
        """A sentence for each workload whose nodes are not determined."""
        for placed, nodes in zip(self._placement.placed, self._where, strict=True):
            if not nodes:
                yield f"{placed.name}: {pluralize(placed.count, 'instance')}, {len(placed.nodes)} eligible nodes"

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
        """By URN: the rules that evaluated the resource, each with its most severe verdict."""
        numbers = {rule.id: number for number, rule in enumerate(RULES)}
        found: dict[str, dict[int, Verdict]] = defaultdict(dict)
        for finding in self._audit.findings:  # the most severe first within a rule
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
        """A rack's servers: single servers first, then groups of identical ones."""
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
        """A key that is equal for servers of one group. A server with a member of a quorum is never in a group."""
        nodes = self._servers[name]
        if any(self._placement.placed[each].quorum for node in nodes for each in self._on_node[node]):
            return name
        look = tuple((self._placement.nodes[node].pool, tuple(self._on_node[node])) for node in nodes)
        return look, self._lost.get(name)


def _pool_order(node: Place) -> tuple[bool, bool, str, str]:
    """Sorts masters first, computes and storage nodes last."""
    return node.pool != "master", node.pool in ("compute", "storage"), node.pool, node.name


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts r2 before r10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
