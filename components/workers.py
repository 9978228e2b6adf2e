"""Which machines are one resource together: physical workers that differ in nothing but name, address and place."""

from __future__ import annotations

from blueprint.inventory import Machine
from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components import kubelet
from contract import COMPUTE_POOL, STORAGE_POOL

WORKERS = (COMPUTE_POOL, STORAGE_POOL)
"""Pools that grow by the hundred."""


def pools(plan: Plan) -> dict[str, list[Node]]:
    """Workers by the name of their resource: the pool and the size, with what else sets them apart."""
    found: dict[str, list[Node]] = {}
    for node in plan.nodes:
        if node.pool in WORKERS and not node.virtual:
            found.setdefault(_name(node, kubelet.server(plan, node)), []).append(node)
    return found


def alone(plan: Plan) -> list[Node]:
    """Physical machines that are a resource each and belong to no other component: controllers and monitoring."""
    return [node for node in plan.nodes if node.pool not in WORKERS and not node.virtual and node not in plan.masters]


def _name(node: Node, host: Machine) -> str:
    """The pool, the server's size, and what else sets these workers apart: so a new kind renames no other."""
    parts = [node.pool, f"{host.cpu}c-{host.memory}g", *sorted(set(node.roles) - {node.pool})]
    if (node.cpu, node.memory) != (host.cpu, host.memory):
        parts.append(f"{host.cpu - node.cpu}c-{host.memory - node.memory}g")
    if not node.rack:
        parts.append("no-rack")
    return "-".join(parts)
