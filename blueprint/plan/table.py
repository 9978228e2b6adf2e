"""Formats a plan as text: a summary in one line, or tables of pools and services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan


def summary(result: Plan) -> str:
    """Returns a summary of the plan in one line: architecture, profile, number of nodes in each pool."""
    pools = Counter(node.pool for node in result.nodes)
    nodes = ", ".join(f"{pool} {count}" for pool, count in pools.items())
    return f"architecture {result.architecture.name}, {result.settings.profile}; nodes: {nodes}"


def table(result: Plan) -> str:
    """Returns the plan as text: pools with their nodes, services with their assignment, and warnings."""
    lines = [summary(result), "", "pool  nodes"]
    width = max(len(node.pool) for node in result.nodes)
    for pool in dict.fromkeys(node.pool for node in result.nodes):
        names = [_placed(node) for node in result.pool(pool)]
        lines.append(f"{pool:{width}}  {_shortened(names)}")
    if result.etcd_machines:
        lines += [
            "",
            f"etcd, on machines that are not nodes: {_shortened([_placed(each) for each in result.etcd_machines])}",
        ]
    lines += ["", f"{'row':24} {'instances':>9} {'dedicated':>9}  runs on, for example"]
    for service in result.services:
        if service.replaced_by:
            lines.append(f"{service.row:24} {'-':>9} {'-':>9}  retired: {service.replaced_by}")
            continue
        names = [a.node for a in result.assignment if a.service == service.name]
        dedicated = service.dedicated_nodes or "-"
        lines.append(f"{service.row:24} {service.instances:>9} {dedicated:>9}  {_shortened(names)}")
    for companion in result.companions:
        names = [a.node for a in result.assignment if a.service == companion.name]
        record = result.settings.records.added_file(companion.process)
        own = f"  ({record}, of the stack's own)" if record else ""
        lines.append(f"{f'+ {companion.name}':24} {companion.instances:>9} {'-':>9}  {_shortened(names)}{own}")
    if external := result.settings.external_ceph:
        lines += ["", f"Ceph: an external cluster, {external.fsid}, with monitors {_shortened(external.monitors)}"]
    if result.warnings:
        lines += ["", *(f"warning: {warning}" for warning in result.warnings)]
    return "\n".join(lines) + "\n"


def _placed(node: Node) -> str:
    return node.name if node.name == node.server else f"{node.name}@{node.server}"


def _shortened(names: Sequence[str], most: int = 9) -> str:
    if len(names) <= most:
        return " ".join(names) or "-"
    return f"{' '.join(names[: most - 2])} … {names[-1]} ({len(names)})"
