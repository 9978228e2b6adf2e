"""File and step that create the directories of local volumes on a node, because Kubernetes does not create them."""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.machine import File, Parts, Step
from files.yaml_writer import literal
from openstack import data

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
    """Returns a node's systemd-tmpfiles list of data directories and the step that applies the list.

    Returns no files and no steps for a node on which no process stores data.
    """
    lines = [f"d {each.path} {data.MODE} {each.uid} {each.uid} -\n" for each in data.directories(plan, node)]
    return Parts((File(TMPFILES, literal("".join(lines))),), (_CREATE,)) if lines else Parts()
