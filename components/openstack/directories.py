"""Creates the directories of local volumes with systemd-tmpfiles; Kubernetes does not create them."""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import literal
from components.machine import File, Parts, Step
from components.openstack import storage
from components.openstack.config.wiring import ENVIRONMENT
from components.openstack.projects import PROCESSES

TMPFILES = "/etc/tmpfiles.d/quorate.conf"

_CREATE = Step(
    name="create-directories",
    does="Creates the directories of local volumes.",
    check=f"""\
while read -r _ directory _; do
  [ -d "$ROOT$directory" ] || exit 1
done <"$ROOT{TMPFILES}\"""",
    apply=f'systemd-tmpfiles --create "$ROOT{TMPFILES}"',
)


def parts(plan: Plan, node: Node) -> Parts:
    """Returns a node's systemd-tmpfiles list and the step that applies it, if processes store data on the node."""
    processes = [
        PROCESSES[entry.name] for entry in plan.processes if node.pool in entry.pools and PROCESSES[entry.name].claim
    ]
    root = storage.root(ENVIRONMENT)
    lines = [f"d {root}/{process.name} 0770 {process.uid} {process.uid} -\n" for process in processes]
    return Parts((File(TMPFILES, literal("".join(lines))),), (_CREATE,)) if lines else Parts()
