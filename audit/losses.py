"""Computes how many instances each server's failure can take, for the worst placement that scheduling rules allow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contract import SERVER
from policy.facts.placement.placement_map import Placed, PlacementMap
from policy.facts.placement.worst_case import Topologies, losses, room
from policy.facts.quorums.quorums import majority


@dataclass(frozen=True)
class Loss:
    """The instances that one workload, or one quorum of several workloads, loses when a server fails."""

    placed: int
    """Index of the workload in the placement; of the first workload if the quorum has several."""
    lost: int
    left: int
    needs: int
    """Number of members required for a majority; 1 for a service that is not a quorum."""
    elsewhere: bool
    """Whether all instances fit on the eligible nodes that remain, under the same scheduling rules."""

    @property
    def stands(self) -> bool:
        """Whether, after the failure, the quorum has a majority or the service has an instance."""
        return self.left >= self.needs

    @property
    def count(self) -> int:
        """Number of instances before the server fails."""
        return self.lost + self.left


Losses = Mapping[str, tuple[Loss, ...]]
"""The instances that each server's failure can take, by the server's name."""


def of_servers(placement: PlacementMap) -> Losses:
    """Returns the instances that each server's failure can take, by the server's name.

    Nodes without a server label are omitted, and services that run on every eligible node, unless they are quorums.
    """
    servers: dict[str, set[int]] = defaultdict(set)
    for number, node in enumerate(placement.nodes):
        if node.server:
            servers[node.server].add(number)
    together: dict[str, list[int]] = defaultdict(list)
    for number, placed in enumerate(placement.placed):
        if placed.quorum or not placed.everywhere:
            together[placed.group or placed.resource].append(number)
    topologies = placement.topologies
    found: dict[str, list[Loss]] = {server: [] for server in servers}
    for numbers in together.values():
        members = [placement.placed[number] for number in numbers]
        for server, lost in losses(members, SERVER, topologies).items():
            if server and lost:
                found[server].append(_loss(numbers[0], members, lost, servers[server], topologies))
    return {server: tuple(each) for server, each in found.items()}


def alike(found: Losses) -> Mapping[tuple[Loss, ...], tuple[str, ...]]:
    """Groups the servers whose failure takes the same, in the order of their names."""
    groups: dict[tuple[Loss, ...], list[str]] = defaultdict(list)
    for server in sorted(found, key=natural):
        groups[found[server]].append(server)
    return {losses: tuple(servers) for losses, servers in groups.items()}


def to_json(placement: PlacementMap) -> list[dict[str, Any]]:
    """Returns what the failure of each server can take, in the format of findings.json."""
    return [
        {"servers": list(servers), "lost": [_to_json(placement.placed[each.placed], each) for each in losses]}
        for losses, servers in alike(of_servers(placement)).items()
    ]


def _to_json(placed: Placed, loss: Loss) -> dict[str, Any]:
    return {
        "name": placed.group or placed.name,
        "quorum": placed.quorum,
        "lost": loss.lost,
        "left": loss.left,
        "needs": loss.needs,
        "stands": loss.stands,
        "elsewhere": loss.elsewhere,
    }


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key for names with numbers: r2 before r10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _loss(first: int, members: Sequence[Placed], lost: int, nodes: set[int], topologies: Topologies) -> Loss:
    count = sum(each.count for each in members)
    needs = majority(count) if members[0].quorum else 1
    elsewhere = all(_fits_elsewhere(each, nodes, topologies) for each in members)
    return Loss(first, lost, count - lost, needs, elsewhere)


def _fits_elsewhere(placed: Placed, nodes: set[int], topologies: Topologies) -> bool:
    others = [node for node in placed.nodes if node not in nodes]
    return room(placed, others, topologies) >= placed.count
