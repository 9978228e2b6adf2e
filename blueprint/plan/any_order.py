"""Checks that every instance finds a node with room in any scheduling order.

The plan's assignment shows that one placement exists. The scheduler places pods in any order and does not move them
afterwards. A service is therefore certain to run only if there are enough nodes, one for each of its instances, with
room for all pods that may run there at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.assignment import SYSTEM_CPU, SYSTEM_MEMORY, Demand
from blueprint.plan.nodes import Node
from blueprint.problems import Problem


def problems(services: Sequence[Demand], nodes: Sequence[Node], sizes: Mapping[str, Resources]) -> list[Problem]:
    """Returns a problem for each pool with too little room, which names its smallest node and the affected services.

    `sizes`: the requests of one instance of each service. A service without a problem always finds room; a service with
    a problem may still find room in some scheduling orders.
    """
    pools = Counter(node.pool for node in nodes)
    crowds = {pool: [each for each in services if pool in each.pools] for pool in pools}
    requested = {pool: _requested(crowd, sizes) for pool, crowd in crowds.items() if crowd}
    short = [node for node in nodes if node.pool in requested and _missing(node, *requested[node.pool]) > 0]
    sure = pools - Counter(node.pool for node in short)  # nodes where an instance always finds room
    # Agents that run on every node are system-node-critical: they preempt other pods, so they always find room.
    choosy = [each for each in services if not each.every_node]
    unsure = [each for each in choosy if each.instances > sum(sure[pool] for pool in each.pools)]
    found: list[Problem] = []
    for pool in dict.fromkeys(node.pool for node in short):
        concerned = [each.name for each in unsure if pool in each.pools]
        if concerned:
            shortest = max((n for n in short if n.pool == pool), key=lambda node: _missing(node, *requested[node.pool]))
            found.append(_problem(shortest, crowds[pool], sizes, concerned))
    return found


def _requested(crowd: Sequence[Demand], sizes: Mapping[str, Resources]) -> tuple[int, int]:
    """Returns the requests of one instance of each service in `crowd`, plus the reserve for the node's system.

    The result is in millicores and MiB.
    """
    cpu = SYSTEM_CPU + sum(sizes[each.name].cpu_m for each in crowd)
    return cpu, SYSTEM_MEMORY + sum(sizes[each.name].memory_mi for each in crowd)


def _missing(node: Node, cpu: int, memory: int) -> float:
    """Returns the fraction of the node's CPU or memory, the larger one, that it lacks for these requests.

    The result is 0 or less if the requests fit. `cpu`, `memory`: millicores and MiB.
    """
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
