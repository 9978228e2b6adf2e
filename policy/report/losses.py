"""What the loss of a server would take away, in the worst case that the scheduling rules allow.

Not of one placement: the scheduler may put instances elsewhere within the same rules. So a server is taken to carry as
many instances of a workload as it may: one where they keep apart over servers, one on each of its nodes where they keep
apart over nodes, all of them where nothing keeps them apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from policy.members import majority
from policy.placement import Placed, Placement


@dataclass(frozen=True)
class Loss:
    """What is lost of one workload."""

    placed: int
    """Its number in the placement."""
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


Losses = Mapping[str, tuple[Loss, ...]]
"""By server."""


def of_servers(placement: Placement) -> Losses:
    """The losses by server; nodes whose server is not known are left out. What runs everywhere goes with its node."""
    servers: dict[str, set[int]] = defaultdict(set)
    for number, node in enumerate(placement.nodes):
        if node.server:
            servers[node.server].add(number)
    return {
        server: tuple(
            loss
            for number, placed in enumerate(placement.placed)
            if not (placed.everywhere and not placed.quorum) and (loss := _loss(placement, number, placed, nodes))
        )
        for server, nodes in servers.items()
    }


def _loss(placement: Placement, number: int, placed: Placed, nodes: set[int]) -> Loss | None:
    here = sum(node in nodes for node in placed.nodes)
    lost = _most(placed, here)
    if not lost:
        return None
    needs = majority(placed.count) if placed.quorum else 1
    others = [node for node in placed.nodes if node not in nodes]
    room = len({placement.nodes[node].server for node in others}) if placed.apart == "server" else len(others)
    elsewhere = room >= placed.count if placed.apart else bool(others)
    return Loss(number, lost, placed.count - lost, needs, elsewhere)


def _most(placed: Placed, here: int) -> int:
    """Instances that a server with so many of the workload's nodes may carry."""
    if placed.apart == "server":
        here = min(here, 1)
    return min(here, placed.count) if placed.apart or not here else placed.count
