"""Checks that the nodes with clients of an external Ceph reach its monitors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.ceph_settings import ExternalCeph
from doctor.checks import MachineFinding
from doctor.facts import ReadFacts
from text.quoting import first_of

CEPH = "ceph"
"""Name of the check."""
CLIENTS = ("glance-api", "cinder-volume", "cinder-backup", "nova-compute", "nova-libvirt")
"""Processes that connect to Ceph."""
SCRIPT = Path(__file__).with_name("monitors.sh")
LIMIT = 120
"""Seconds for the connections of one machine: 3 for each port of a silent monitor, 16 monitors at a time. Project
figure, for up to 300 monitors."""
_NAMED = 5


def nodes(plan: Plan) -> tuple[Node, ...]:
    """Returns the nodes on which a client of the external Ceph may run; () in a stack with a Ceph of its own."""
    if plan.settings.external_ceph is None:
        return ()
    pools = {pool for process in plan.processes if process.process in CLIENTS for pool in process.pools}
    return tuple(node for node in plan.nodes if node.pool in pools)


def script(external: ExternalCeph) -> str:
    """Returns the script that connects to the monitors from a machine."""
    monitors = "\n".join(external.monitors)
    return f"monitors='{monitors}'\n{SCRIPT.read_text(encoding='utf-8')}"


def unreached(node: Node, facts: ReadFacts, external: ExternalCeph) -> Iterator[MachineFinding]:
    """Yields what the script found on a machine: monitors that accept no connection."""
    if not facts.one("bash"):
        yield MachineFinding(CEPH, node.name, "it has no bash, which tries the connections", "install bash")
    elif silent := [each for each in external.monitors if each not in facts.all("monitor")]:
        problem = f"Ceph's monitors {first_of(silent, _NAMED)} accept no connection"
        remedy = "admit this machine to their TCP ports 3300 and 6789, or correct quorate:ceph.external.monitors"
        yield MachineFinding(CEPH, node.name, problem, remedy)
