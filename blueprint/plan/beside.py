"""Checks that every node with an instance of a service also runs the services that its row requires there (`beside`).

It is not enough that both services may run on the same nodes: three instances on five nodes leave two nodes without an
instance. A service runs on all of its eligible nodes only if it has as many instances as nodes. This module checks the
stack's counts and nodes; architecture/constraints.py checks the rows of an architecture file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.architecture.model import Architecture
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem


def problems(architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields a problem for each service that may run on a node without a service that its row requires there."""
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
