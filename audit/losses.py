"""What the loss of a server would take away, in the worst case that the scheduling rules allow.

Not of one placement: the scheduler may put instances elsewhere within the same rules. So a server is taken to carry as
many instances of a workload as it may: one where they keep apart over servers, one on each of its nodes where they keep
apart over nodes, all of them where nothing keeps them apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policy.facts.placement_map import Placed, Placement
from policy.facts.quorums import majority


@dataclass(frozen=True)
class Loss:
    """What is lost of one workload, or of one quorum of several."""

    placed: int
    """Its number in the placement; of a quorum of several workloads the first one's."""
    lost: int
    left: int
    needs: int
    """Members that make a majority; one for what is no quorum."""
    elsewhere: bool
    """Whether its other nodes have room for all instances, by the same rules."""

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
    """The losses by server; nodes whose server is not known are left out. What runs everywhere goes with its node."""
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
    lost = _lost(members, nodes)
    if not lost:
        return None
    count = sum(each.count for each in members)
    needs = majority(count) if members[0].quorum else 1
    elsewhere = all(_has_room(placement, each, nodes) for each in members)
    return Loss(numbers[0], lost, count - lost, needs, elsewhere)


def _lost(members: Sequence[Placed], nodes: set[int]) -> int:
    """Instances of these workloads that a server with these nodes may carry together."""
    each = [_most(placed, sum(node in nodes for node in placed.nodes)) for placed in members]
    if len(members) > 1 and members[0].between == "server":
        return max(each)
    if len(members) > 1 and members[0].between == "node":
        return min(sum(each), len({node for placed in members for node in placed.nodes if node in nodes}))
    return sum(each)


def _most(placed: Placed, here: int) -> int:
    """Instances that a server with so many of the workload's nodes may carry."""
    if placed.apart == "server":
        here = min(here, 1)
    return min(here, placed.count) if placed.apart or not here else placed.count


def _has_room(placement: Placement, placed: Placed, nodes: set[int]) -> bool:
    others = [node for node in placed.nodes if node not in nodes]
    room = len({placement.nodes[node].server for node in others}) if placed.apart == "server" else len(others)
    return room >= placed.count if placed.apart else bool(others)
