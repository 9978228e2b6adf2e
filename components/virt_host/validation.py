"""Compares libvirt domains of the user's own templates with libvirt's schema, if this host has `virt-xml-validate`.

The result is a warning and no error: libvirt on the virt host may know other elements than this host's schema.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence

from blueprint.plan.nodes import Node
from components.virt_host.domain import DOMAIN, files
from files.quoting import single_line

PROGRAM = "virt-xml-validate"
_LIMIT = 60
"""Seconds until a validation that does not end is given up. It takes less than 0.1 s."""
_LONGEST = 300
"""Maximum length of a message, which may quote a value."""


def warnings(nodes: Sequence[Node], template: str | None) -> Iterator[str]:
    """Yields a warning for each domain of an own template that does not fit the schema.

    `template`: path of the template of all virtual machines that have none of their own. Machines of one entry differ
    only in names and addresses, so that one of them is validated.
    """
    if shutil.which(PROGRAM) is None:
        return
    by_entry = {id(node.machine.vm): (node, node.machine.vm.template or template) for node in nodes if node.machine.vm}
    for node, chosen in by_entry.values():
        definition = files(node, template).get(DOMAIN)
        if chosen and definition and (error := _error(definition)):
            yield f"{node.name}: its libvirt domain, of {chosen}, does not fit libvirt's schema: {error}"


def _error(definition: str) -> str:
    """Returns what is wrong with a domain; "" if nothing is."""
    words, given = [PROGRAM, "-", "domain"], definition.encode()
    try:
        done = subprocess.run(words, input=given, capture_output=True, timeout=_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stderr.decode(errors="replace").splitlines()
    errors = [line.removeprefix("-:") for line in lines if " error " in line]
    return single_line(errors[0], _LONGEST) if done.returncode and errors else ""
