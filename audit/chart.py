"""Computes the placement map of the audit page: racks, servers, nodes, their workloads, effects of a server's failure.

Identical servers in a rack that run no quorum member form one group on the map, so that a thousand compute nodes are a
few dozen groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from audit import losses
from audit.losses import natural
from audit.plan import PlanFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.facts.placement.placement_map import NodePlace, Placed, PlacementMap
from policy.findings import Verdict
from text.plural import pluralize

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
    """The data of the map as JSON, for the script of the audit page."""
    quorums: tuple[str, ...]
    """Kinds of quorum on the map."""
    majorities: tuple[str, ...]
    """A sentence for each server whose failure costs a quorum its majority."""
    restarted: tuple[str, ...]
    """Services that the failure of one server can leave without an instance until one starts on another node."""
    stranded: tuple[str, ...]
    """Services that the failure of one server can leave without an instance and without enough eligible nodes."""
    homeless: tuple[str, ...]
    """Nodes that are eligible for quorum members and have no label with their physical server."""
    unplaced: tuple[str, ...]
    """A sentence for each workload that is not on the map, because its nodes are not determined."""


def draw(audit: Audit, plan: PlanFile) -> Chart | None:
    """Computes the placement map of an audit. Returns None if the audit has no placement or no nodes.

    `plan`: the plan, which gives a workload's nodes if the resources allow several placements.
    """
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
    """Computes the parts of a placement map."""

    def __init__(self, audit: Audit, placement: PlacementMap, plan: PlanFile) -> None:
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
        """Returns the data of the map for the audit page, with numbers in place of the names of nodes and workloads."""
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
        """Yields a sentence for each server whose failure costs a quorum its majority."""
        for server in sorted(self._lost, key=natural):
            for loss in self._lost[server]:
                placed = self._placement.placed[loss.placed]
                if placed.quorum and not loss.stands:
                    kept = f"{placed.group or placed.name} may keep {loss.left} of {loss.count} members"
                    yield f"without {server}, {kept}; a majority is {loss.needs}"

    def outages(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the services that the failure of one server can leave without an instance, in two lists.

        The first list has those whose instances fit on the remaining eligible nodes, the second list the others.
        """
        found: dict[int, list[bool]] = defaultdict(list)
        for loss in (each for lost in self._lost.values() for each in lost):
            if not self._placement.placed[loss.placed].quorum and not loss.stands:
                found[loss.placed].append(loss.elsewhere)
        names = {number: self._placement.placed[number].service for number in found}
        restarted = sorted(names[number] for number, elsewhere in found.items() if all(elsewhere))
        return tuple(restarted), tuple(sorted(set(names.values()) - set(restarted)))

    def homeless(self) -> list[str]:
        """Returns the names of the nodes that are eligible for quorum members and have no server label."""
        used = {node for placed in self._placement.placed if placed.quorum for node in placed.nodes}
        return [self._placement.nodes[node].name for node in sorted(used) if not self._placement.nodes[node].server]

    def unplaced(self) -> Iterator[str]:
        """Yields a sentence for each workload whose nodes neither the resources nor the plan determine."""
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
        """By URN of a resource: the numbers of the rules that evaluated it, each with its most severe verdict."""
        numbers = {rule.id: number for number, rule in enumerate(RULES)}
        found: dict[str, dict[int, Verdict]] = defaultdict(dict)
        for finding in self._audit.findings:  # the most severe first within a rule
            if finding.verdict is not Verdict.NOT_APPLICABLE:
                found[finding.resource].setdefault(numbers[finding.rule], finding.verdict)
        return {urn: [[rule, str(verdict)] for rule, verdict in said.items()] for urn, said in found.items()}

    def _racks(self) -> dict[str, list[str]]:
        """Returns the names of the servers in each rack, servers and racks in natural order (r2 before r10)."""
        found: dict[str, set[str]] = defaultdict(set)
        for node in self._placement.nodes:
            found[node.rack].add(node.server or node.name)
        return {rack: sorted(found[rack], key=natural) for rack in sorted(found, key=natural)}

    def _groups(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the servers of a rack for the map: single servers first, then groups of identical servers."""
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
        """Returns a key that is equal for servers of one group. A server with a quorum member is in a group of one."""
        nodes = self._servers[name]
        if any(self._placement.placed[each].quorum for node in nodes for each in self._on_node[node]):
            return name
        look = tuple((self._placement.nodes[node].pool, tuple(self._on_node[node])) for node in nodes)
        return look, self._lost.get(name)


def _pool_order(node: NodePlace) -> tuple[bool, bool, str, str]:
    """Sort key for the nodes of a server: masters first, compute and storage nodes last."""
    return node.pool != "master", node.pool in ("compute", "storage"), node.pool, node.name
