"""Directories that nodes need before a stateful service comes: a local volume is only a path, nobody makes it."""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import literal
from components.openstack.catalogue import CATALOGUE
from components.openstack.storage import ROOT


def files(plan: Plan, node: Node) -> dict[str, str]:
    """systemd-tmpfiles' list for a node, as a template; none where no service keeps data."""
    lines = [
        f"d {ROOT}/{service.name} 0770 {CATALOGUE[service.name].uid} {CATALOGUE[service.name].uid} -\n"
        for service in plan.services
        if not service.replaced_by and node.pool in service.pools and CATALOGUE[service.name].claim
    ]
    return {"tmpfiles.conf": literal("".join(lines))} if lines else {}
