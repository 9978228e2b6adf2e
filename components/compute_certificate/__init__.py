"""The certificate by which a compute moves virtual machines to others, and the step that lets libvirt and QEMU use it.

They read it in the pod of nova-libvirt, which mounts the directories that the step fills (blueprint/openstack/projects,
nova.yaml). So another certificate or authority restarts neither the pod nor a virtual machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.k8s_master import pki
from components.k8s_master.pki import Pki
from components.machine import File, Parts, Step
from files.yaml_writer import literal
from openstack import project_definitions

SCRIPT = "/usr/local/lib/quorate/compute-certificate"
PROCESS = "nova-libvirt"


def parts(plan: Plan, computes: Sequence[Node], certificates: Pki) -> Parts:
    """Returns the files of these computes, and the step that uses them."""
    user = project_definitions.processes(plan.settings.records)[PROCESS].uid
    command = f'sh "$ROOT{SCRIPT}"', str(user)
    step = Step(
        name="use-compute-certificate",
        does="Gives libvirt and QEMU this compute's certificate. A libvirtd that runs reads it again.",
        check=" used ".join(command),
        apply=" use ".join(command),
        leave=f'rm -rf "$ROOT{pki.COMPUTE}/pki"',
    )
    return Parts((*certificates.compute_files(computes), File(SCRIPT, literal(_script()), mode=0o755)), (step,))


@cache
def _script() -> str:
    return (Path(__file__).parent / "compute_certificate.sh").read_text(encoding="utf-8")
