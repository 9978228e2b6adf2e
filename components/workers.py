"""Which machines are one resource together: physical workers that differ in nothing but name, address and place."""

from __future__ import annotations

from blueprint.plan.nodes import Capacity, Node
from blueprint.plan.planner import Plan
from contract import COMPUTE_POOL, STORAGE_POOL

WORKERS = (COMPUTE_POOL, STORAGE_POOL)
"""Pools that grow by the hundred."""


def pools(plan: Plan) -> dict[str, list[Node]]:
    """Workers by the name of their resource: the pool and the size, with what else sets them apart."""
    found: dict[str, list[Node]] = {}
    for node in plan.nodes:
        if node.pool in WORKERS and not node.virtual:
            found.setdefault(_name(node), []).append(node)
    return found


def alone(plan: Plan) -> list[Node]:
    """Physical machines that are a resource each and belong to no other component: controllers and monitoring."""
    return [node for node in plan.nodes if node.pool not in WORKERS and not node.virtual and node not in plan.masters]


def _name(node: Node) -> str:
    """The pool, the server's size, and what else sets these workers apart: so a new kind renames no other."""
    machine, kept = node.machine, node.reserved
    parts = [node.pool, f"{machine.cpu}c-{machine.memory}g", *sorted(set(node.roles) - {node.pool})]
    if kept != Capacity(0, 0):
        parts.append(f"{kept.cpu}c-{kept.memory}g")
    if not node.rack:
        parts.append("no-rack")
    return "-".join(parts)
