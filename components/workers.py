"""Groups machines into Pulumi components: workers that differ only in name, address, server and rack share one."""

from __future__ import annotations

from blueprint.plan.nodes import Capacity, Node
from blueprint.plan.plan import Plan
from contract import COMPUTE_POOL, STORAGE_POOL

WORKERS = (COMPUTE_POOL, STORAGE_POOL)
"""Pools that may have hundreds of nodes, whose machines therefore share a component."""


def pools(plan: Plan) -> dict[str, list[Node]]:
    """Returns the physical workers that share a component, by the name of the component."""
    found: dict[str, list[Node]] = {}
    for node in plan.nodes:
        if node.pool in WORKERS and not node.virtual:
            found.setdefault(_name(node), []).append(node)
    return found


def alone(plan: Plan) -> list[Node]:
    """Returns the physical machines that have a component of their own, such as controllers; without masters."""
    return [node for node in plan.nodes if node.pool not in WORKERS and not node.virtual and node not in plan.masters]


def _name(node: Node) -> str:
    """Returns the name of a worker's group, from pool, size, further roles and reserved resources.

    A new kind of worker therefore does not rename existing groups.
    """
    machine, kept = node.machine, node.reserved
    parts = [node.pool, f"{machine.cpu}c-{machine.memory}g", *sorted(set(node.roles) - {node.pool})]
    if kept != Capacity(0, 0):
        parts.append(f"{kept.cpu}c-{kept.memory}g")
    if not node.rack:
        parts.append("no-rack")
    return "-".join(parts)
