"""Writes a plan as plan.json, which audits and other programs read."""

from __future__ import annotations

import json
from pathlib import Path

from blueprint.architecture.model import Row
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from files import atomic

VERSION = 2
"""Version of plan.json, raised with every change of its format that a reader of the old format would misread."""


def to_json(plan: Plan) -> str:
    """Returns the content of plan.json: keys in a stable order, a newline at the end."""
    document = {
        "version": VERSION,
        "architecture": plan.architecture.name,
        "profile": plan.settings.profile,
        "release": plan.settings.release,
        "target": plan.settings.target,
        "warnings": list(plan.warnings),
        "nodes": [_node(node) for node in plan.nodes],
        **({"etcdMachines": [_node(node) for node in plan.etcd_machines]} if plan.etcd_machines else {}),
        "services": [_service(service, plan.architecture.row(service.name)) for service in plan.services],
        "companions": [_companion(companion) for companion in plan.companions],
        "assignment": [{"service": a.service, "node": a.node, "server": a.server} for a in plan.assignment],
    }
    return json.dumps(document, indent=1) + "\n"


def write(plan: Plan, path: Path) -> None:
    """Writes plan.json atomically."""
    atomic.write(path, to_json(plan))


def _companion(companion: ServicePlan) -> dict[str, object]:
    return {
        "name": companion.name,
        "companionOf": companion.companion_of,
        "instances": companion.instances,
        "pool": companion.pool,
        "pools": list(companion.pools),
        "source": companion.source,
    }


def _node(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "server": node.server,
        "roles": list(node.roles),
        "pool": node.pool,
        "dedicatedTo": node.dedicated_to,
        "rack": node.rack,
        "address": node.address,
        "virtual": node.virtual,
    }


def _service(service: ServicePlan, row: Row) -> dict[str, object]:
    return {
        "name": service.name,
        "row": service.row,
        "instances": service.instances,
        "dedicatedNodes": service.dedicated_nodes,
        "shareable": service.shareable,
        "loadBalancer": service.load_balancer,
        "pool": service.pool,
        "pools": list(service.pools),
        "source": service.source,
        "replacedBy": service.replaced_by,
        "table": {
            "instances": row.table_instances,
            "dedicated": row.dedicated_nodes,
            "shareable": row.table_shareable,
            "loadBalancer": row.table_load_balancer,
        },
    }
