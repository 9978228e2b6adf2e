"""Whether every node with an instance of a service also runs the services that its row must be beside.

Eligible nodes in common are not enough: three instances on five nodes may leave any two of them out. A service is
certain to be on its nodes only if it has an instance for each. What the rows of an architecture file say against each
other is in architecture/constraints.py; here counts and nodes are the stack's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.architecture.model import Architecture
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem


def problems(architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Services of which an instance may be on a node without its neighbour, with the counts that make it certain."""
    by_name = {service.name: service for service in services}
    for service in services:
        for name in architecture.row(service.name).beside:
            neighbour = by_name.get(name)
            if neighbour is None or service.instances == 0:
                continue
            eligible = sum(node.pool in neighbour.pools for node in nodes)
            if away := [pool for pool in service.pools if pool not in neighbour.pools]:
                wrong = f"may run on pools {', '.join(away)}, which cannot run {neighbour.row}"
                advice = "give both the same pools"
            elif not neighbour.everywhere and neighbour.instances < eligible:
                there = f"{neighbour.instances} instances on {eligible} nodes"
                wrong = f"its node need not run {neighbour.row}, which has {there}"
                advice = f"write quorate:services.{name}.replicas: {eligible}"
            else:
                continue
            yield Problem(f"quorate:services.{service.name}", f"{wrong}; {advice} (004, 5.3.8 and 5.4.8)")
