"""Checks that every instance finds a node with room in any scheduling order.

The assignment shows that one order works. The scheduler places pods in any order and moves none afterwards. So a
service is safe only if, for each of its instances, there is a node with room for everything that may run there at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from blueprint.plan.assignment import SYSTEM_CPU, SYSTEM_MEMORY, Demand
from blueprint.plan.nodes import Node
from blueprint.plan.sizing import Resources
from blueprint.problems import Problem


def problems(services: Sequence[Demand], nodes: Sequence[Node], sizes: Mapping[str, Resources]) -> list[Problem]:
    """Returns one problem per pool whose nodes may lack room: the node that lacks most, and the services affected.

    The check is conservative: a service that passes always has room; a service that is reported may still have room.
    """
    pools = Counter(node.pool for node in nodes)
    crowds = {pool: [each for each in services if pool in each.pools] for pool in pools}
    requested = {pool: _requested(crowd, sizes) for pool, crowd in crowds.items() if crowd}
    short = [node for node in nodes if node.pool in requested and _missing(node, *requested[node.pool]) > 0]
    sure = pools - Counter(node.pool for node in short)  # nodes where an instance always finds room
    # An agent of every node is system-node-critical: it takes its room from others, which are counted here.
    choosy = [each for each in services if not (each.everywhere and each.companion_of)]
    unsure = [each for each in choosy if each.instances > sum(sure[pool] for pool in each.pools)]
    found: list[Problem] = []
    for pool in dict.fromkeys(node.pool for node in short):
        concerned = [each.name for each in unsure if pool in each.pools]
        if concerned:
            shortest = max((n for n in short if n.pool == pool), key=lambda node: _missing(node, *requested[node.pool]))
            found.append(_problem(shortest, crowds[pool], sizes, concerned))
    return found


def _requested(crowd: Sequence[Demand], sizes: Mapping[str, Resources]) -> tuple[int, int]:
    """Millicores and MiB that one instance of each service requests, plus the system's share."""
    cpu = SYSTEM_CPU + sum(sizes[each.name].cpu_m for each in crowd)
    return cpu, SYSTEM_MEMORY + sum(sizes[each.name].memory_mi for each in crowd)


def _missing(node: Node, cpu: int, memory: int) -> float:
    """The share of CPU or memory (the larger one) that the node lacks; 0 or less if everything fits."""
    has = node.allocatable
    return max(cpu / (has.cpu * 1000), memory / (has.memory * 1024)) - 1


def _problem(node: Node, crowd: Sequence[Demand], sizes: Mapping[str, Resources], concerned: Sequence[str]) -> Problem:
    cpu, memory = _requested(crowd, sizes)
    has = node.allocatable
    return Problem(
        f"quorate:servers ({node.name})",
        f"pool {node.pool}: the pods that may share one node request {cpu / 1000:g} cores and {memory / 1024:.1f} GiB "
        f"with the system's share, and the node has {has.cpu} cores and {has.memory} GiB; in some scheduling orders an "
        f"instance of {', '.join(concerned)} stays Pending; use larger nodes",
    )
