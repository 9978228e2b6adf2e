"""Deals machines out to pools: which nodes are kept for which service.

Each row of the architecture that has dedicated nodes owns a pool of its own name. Members of a quorum get nodes on
different physical hosts, or the stack is refused; other owners get them as far apart as the servers allow, and racks
break ties. Always taking from the host with most nodes left finds an assignment of the quorums whenever there is one
(Gale and Ryser's construction for bipartite degree sequences).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from blueprint.architecture.model import Architecture, Row
from blueprint.inventory import Machine
from blueprint.plan.nodes import Node, node
from blueprint.problems import Problem
from contract import COMPUTE_POOL, CONTROLLER_POOL, MASTER_POOL, MONITORING_POOL, STORAGE_POOL


def assign_pools(
    machines: Sequence[Machine], architecture: Architecture, dedicated: Mapping[str, int]
) -> tuple[tuple[Node, ...], list[Problem]]:
    """Every node with its pool, in the order of `machines`. `dedicated`: nodes wanted by owner's service.

    Problems count: what is needed, what there is, what to add.
    """
    by_name = {machine.name: machine for machine in machines}
    free = {role: [m for m in machines if role in m.roles] for role in (CONTROLLER_POOL, MONITORING_POOL)}
    problems = _shortage(architecture, dedicated, free)
    owner_of: dict[str, str] = {}
    for row in sorted(architecture.owners, key=lambda row: (not row.quorum, -dedicated[row.service])):
        wanted = dedicated[row.service]
        sources = [free[MONITORING_POOL], free[CONTROLLER_POOL]] if row.monitoring else [free[CONTROLLER_POOL]]
        chosen = _pick(wanted, sources, distinct=row.quorum)
        if len(chosen) < wanted and not problems:
            problems.append(_too_few_hosts(row, wanted, free, chosen))
        for machine in chosen:
            owner_of[machine.name] = row.service
            for source in sources:
                if machine in source:
                    source.remove(machine)
    nodes: list[Node] = []
    for machine in machines:
        guests = tuple(by_name[name] for name in machine.vms)
        pool = owner_of.get(machine.name) or _common_pool(machine)
        if pool:
            nodes.append(node(machine, pool, owner_of.get(machine.name), guests=guests))
    return tuple(nodes), problems


def _common_pool(machine: Machine) -> str | None:
    """The pool of a machine that no service owns; None for a server that only carries virtual machines."""
    for role in (MASTER_POOL, COMPUTE_POOL, STORAGE_POOL, MONITORING_POOL, CONTROLLER_POOL):
        if role in machine.roles:
            return role
    return None


def _pick(wanted: int, sources: Sequence[Sequence[Machine]], *, distinct: bool) -> list[Machine]:
    """Up to `wanted` machines, the earlier sources first, as far apart as they allow."""
    chosen: list[Machine] = []
    for source in sources:
        left = list(source)
        while left and len(chosen) < wanted:
            on_server = Counter(machine.server for machine in chosen)
            in_rack = Counter(machine.rack for machine in chosen)
            still_free = Counter(machine.server for machine in left)
            best = min(left, key=lambda m: (on_server[m.server], -still_free[m.server], in_rack[m.rack]))
            if distinct and on_server[best.server]:
                break
            chosen.append(best)
            left.remove(best)
    return chosen


def _shortage(
    architecture: Architecture, dedicated: Mapping[str, int], free: Mapping[str, Sequence[Machine]]
) -> list[Problem]:
    needed = sum(dedicated.values())
    monitoring = sum(dedicated[row.service] for row in architecture.owners if row.monitoring)
    # Spare monitoring nodes do not help the others: only as many count as monitoring rows can use.
    there = len(free[CONTROLLER_POOL]) + min(len(free[MONITORING_POOL]), monitoring)
    if there >= needed:
        return []
    lines = ", ".join(f"{row.row} {dedicated[row.service]}" for row in architecture.owners)
    return [
        Problem(
            "quorate:servers",
            f"architecture {architecture.name} dedicates {needed} nodes ({lines}; {architecture.source}), "
            f"the stack has {len(free[CONTROLLER_POOL])} of role controller and {len(free[MONITORING_POOL])} of role "
            "monitoring; "
            f"add {needed - there} with role controller, or name a smaller architecture",
        )
    ]


def _too_few_hosts(row: Row, wanted: int, free: Mapping[str, Sequence[Machine]], chosen: Sequence[Machine]) -> Problem:
    hosts = len({machine.server for machine in (*free[CONTROLLER_POOL], *chosen)})
    return Problem(
        "quorate:servers",
        f"{row.row} needs {wanted} nodes on as many physical hosts, so that the loss of one costs one member; "
        f"nodes of role controller that are still free are on {hosts}; "
        f"add {wanted - len(chosen)} on a physical host of its own",
    )
