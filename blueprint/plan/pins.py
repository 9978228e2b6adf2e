"""Checks the key `pool:` in a stack file, which sets the pool of a server or a virtual machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from blueprint.architecture.model import Architecture, Row
from blueprint.problems import Problem
from blueprint.stackfile.explain import did_you_mean
from blueprint.stackfile.inventory import Machine
from contract import CONTROLLER_POOL, MONITORING_POOL

KEY = "pool"


def may_own(row: Row, machine: Machine) -> bool:
    """Whether the machine has a role (controller, monitoring) with which it can be dedicated to the row's service."""
    return CONTROLLER_POOL in machine.roles or (row.monitoring and MONITORING_POOL in machine.roles)


def pin_problems(
    machines: Sequence[Machine], architecture: Architecture, dedicated: Mapping[str, int]
) -> Iterator[Problem]:
    """Yields a problem for each invalid `pool:` of a machine.

    A pool must exist and fit the machine's role, must not be set for more machines than the service needs, and for a
    quorum not for two machines on one physical host. `dedicated`: how many nodes each service needs.
    """
    owners = {row.service: row for row in architecture.owners}
    pinned: dict[str, list[Machine]] = defaultdict(list)
    for machine in machines:
        if machine.pin is None:
            continue
        if problem := _problem(machine, machine.pin, owners):
            yield Problem(f"quorate:servers ({machine.name}).{KEY}", problem)
        else:
            pinned[machine.pin].append(machine)
    for service, row in owners.items():
        yield from _count_problems(row, pinned[service], dedicated[service])


def _problem(machine: Machine, pool: str, owners: Mapping[str, Row]) -> str | None:
    known = sorted(owners)
    common = [role for role in (CONTROLLER_POOL, MONITORING_POOL) if role in machine.roles]
    if not common:
        return f"only nodes of role {CONTROLLER_POOL} or {MONITORING_POOL} have a choice of pools; remove pool"
    if pool in common:
        return None
    if pool not in owners:
        return (
            f"there is no pool '{pool}'{did_you_mean(pool, known)}; write one of: {', '.join(known)}, or "
            f"{common[0]} for a node that is dedicated to none of them"
        )
    if not may_own(owners[pool], machine):
        admitted = ", ".join(service for service in known if may_own(owners[service], machine))
        advice = f"write {admitted}" if admitted else "remove pool"
        return f"{owners[pool].row} takes no node of role {', '.join(machine.roles)}; {advice}"
    return None


def _count_problems(row: Row, pinned: Sequence[Machine], wanted: int) -> Iterator[Problem]:
    names = ", ".join(machine.name for machine in pinned)
    if len(pinned) > wanted:
        yield Problem(
            f"quorate:servers.{KEY}",
            f"{row.row} has {wanted} nodes, pool {row.service} is written beside {len(pinned)} ({names}); remove it "
            f"from {len(pinned) - wanted}, or write quorate:services.{row.service}.replicas: {len(pinned)}",
        )
    servers: dict[str, list[str]] = defaultdict(list)
    for machine in pinned:
        servers[machine.server].append(machine.name)
    for server, together in servers.items():
        if row.quorum and len(together) > 1:
            yield Problem(
                f"quorate:servers.{KEY}",
                f"pool {row.service} is written beside {' and '.join(together)}, which share the physical host "
                f"{server}; members of a quorum share none: write it beside one of them",
            )
