"""Whether every node with an instance of a service also runs the services that its row must be beside.

Eligible nodes in common are not enough: three instances on five nodes leave two nodes without one. A service runs on
all of its eligible nodes only if it has as many instances as nodes. This module checks the stack's own counts and
nodes; architecture/constraints.py checks that the rows of an architecture file agree with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.architecture.model import Architecture
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem


def problems(architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields each service that may run on a node without its required neighbour, with the change that fixes it."""
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
