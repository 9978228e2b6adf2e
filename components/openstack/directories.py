"""Creates the directories of local volumes with systemd-tmpfiles; Kubernetes does not create them."""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import literal
from components.openstack import storage
from components.openstack.projects import PROCESSES


def files(plan: Plan, node: Node) -> dict[str, str]:
    """Returns systemd-tmpfiles' list for a node, as a template; nothing if no process keeps data there."""
    processes = [
        PROCESSES[entry.name] for entry in plan.processes if node.pool in entry.pools and PROCESSES[entry.name].claim
    ]
    root = storage.root(storage.ENVIRONMENT)
    lines = [f"d {root}/{process.name} 0770 {process.uid} {process.uid} -\n" for process in processes]
    return {"tmpfiles.conf": literal("".join(lines))} if lines else {}
