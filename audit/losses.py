"""Computes the effect of losing each server, for the worst placement that the scheduling rules allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policy.facts.placement_map import Placed, Placement
from policy.facts.quorums import majority
from policy.facts.worst_case import most, most_lost


@dataclass(frozen=True)
class Loss:
    """What is lost of one workload, or of one quorum of several."""

    placed: int
    """Its number in the placement; of a quorum of several workloads the first one's."""
    lost: int
    left: int
    needs: int
    """Members that make a majority; 1 for a service that is not a quorum."""
    elsewhere: bool
    """Whether its other nodes can run all instances, by the same rules."""

    @property
    def stands(self) -> bool:
        """Whether a quorum keeps its majority, and anything else an instance."""
        return self.left >= self.needs

    @property
    def count(self) -> int:
        """Instances in all."""
        return self.lost + self.left


Losses = Mapping[str, tuple[Loss, ...]]
"""By server."""


def of_servers(placement: Placement) -> Losses:
    """Returns the losses by server. Omits nodes without a server label, and services that run on every node."""
    servers: dict[str, set[int]] = defaultdict(set)
    for number, node in enumerate(placement.nodes):
        if node.server:
            servers[node.server].add(number)
    together: dict[str, list[int]] = defaultdict(list)
    for number, placed in enumerate(placement.placed):
        if placed.quorum or not placed.everywhere:
            together[placed.group or placed.resource].append(number)
    return {
        server: tuple(loss for numbers in together.values() if (loss := _loss(placement, numbers, nodes)))
        for server, nodes in servers.items()
    }


def _loss(placement: Placement, numbers: Sequence[int], nodes: set[int]) -> Loss | None:
    members = [placement.placed[number] for number in numbers]
    lost = most_lost(members, nodes, placement.nodes)
    if not lost:
        return None
    count = sum(each.count for each in members)
    needs = majority(count) if members[0].quorum else 1
    elsewhere = all(_fits_elsewhere(placement, each, nodes) for each in members)
    return Loss(numbers[0], lost, count - lost, needs, elsewhere)


def _fits_elsewhere(placement: Placement, placed: Placed, nodes: set[int]) -> bool:
    others = [node for node in placed.nodes if node not in nodes]
    return most(placed, others, placement.nodes) >= placed.count
