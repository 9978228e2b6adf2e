"""Checks that every node with an instance of a service also runs the services that its row requires there (`beside`).

It is not enough that both services may run on the same nodes: three instances on five nodes leave two nodes without an
instance. A service runs on all of its eligible nodes only if it has as many instances as nodes. This module checks the
stack's counts and nodes; architecture/constraints.py checks the rows of an architecture file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.architecture.model import Architecture
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from text.plural import pluralize

SOURCE = "004, 5.3.8 and 5.4.8"


def problems(architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields a problem for each service that may run on a node without a service that its row requires there.

    The problem names all those services at once, so that one change of the stack file is enough.
    """
    by_name = {service.name: service for service in services}
    for service in services:
        if service.instances == 0:
            continue
        key = f"quorate:services.{service.name}"
        few: list[tuple[ServicePlan, int]] = []
        for name in architecture.row(service.name).beside:
            neighbour = by_name.get(name)
            if neighbour is None:
                continue
            eligible = sum(node.pool in neighbour.pools for node in nodes)
            if away := [pool for pool in service.pools if pool not in neighbour.pools]:
                wrong = f"may run on pools {', '.join(away)}, which cannot run {neighbour.row}"
                yield Problem(key, f"{wrong}; give both the same pools ({SOURCE})")
            elif not neighbour.everywhere and neighbour.instances < eligible:
                few.append((neighbour, eligible))
        if few:
            there = " and ".join(
                f"{each.row}, which has {pluralize(each.instances, 'instance')} on {count} nodes" for each, count in few
            )
            advice = " and ".join(f"quorate:services.{each.name}.replicas: {count}" for each, count in few)
            yield Problem(key, f"its node need not run {there}; write {advice} ({SOURCE})")


def raised_together(
    architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]
) -> Mapping[str, str]:
    """Returns what else the stack file must set for each service with more instances than nodes, by service.

    These are the service whose replicas decide how large the pool is, and the services that must run on all its nodes.
    Only for a service whose nodes are one pool with an owner: with several pools, there are several ways.
    """
    by_name = {service.name: service for service in services}
    found: dict[str, str] = {}
    for service in services:
        there = sum(node.pool in service.pools for node in nodes)
        if service.everywhere or service.instances <= there or len(service.pools) != 1:
            continue
        (pool,) = service.pools
        if pool not in by_name or pool == service.name:
            continue
        size = service.instances + (by_name[pool].quorum and service.instances % 2 == 0)
        beside = {name for each in services if pool in each.pools for name in architecture.row(each.name).beside}
        needed = sorted(name for name in beside if name in by_name and not by_name[name].everywhere)
        numbers = {pool: size, **dict.fromkeys((name for name in needed if pool in by_name[name].pools), size)}
        found[service.name] = ", ".join(
            f"quorate:services.{name}.replicas: {count}"
            for name, count in numbers.items()
            if by_name[name].instances < count
        )
    return found
