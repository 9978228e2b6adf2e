"""Finds what is probably wrong in a template of the user's own: options that it does not use, and invalid domains.

Results are warnings and no errors. A value that a template does not use is ignored (source 000, Data model impact), and
libvirt on the virt host may know other elements than this host's schema, which `virt-xml-validate` compares with.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from blueprint.plan.nodes import Node
from components.virt_host import domain_elements
from components.virt_host.domain import DOMAIN, files
from files import text_file
from text.quoting import single_line

PROGRAM = "virt-xml-validate"
_LIMIT = 60
"""Seconds until a validation that does not end is given up. It takes less than 0.1 s."""
_LONGEST = 300
"""Maximum length of a message, which may quote a value."""


def warnings(nodes: Sequence[Node], template: str | None) -> Iterator[str]:
    """Yields a warning for each virtual machine with an own template that leaves out an option or is invalid.

    `template`: path of the template of all virtual machines that have none of their own. Machines of one entry differ
    only in names and addresses, so that one of them stands for all.
    """
    by_entry = {id(node.machine.vm): (node, node.machine.vm.template or template) for node in nodes if node.machine.vm}
    for node, chosen in by_entry.values():
        definition = files(node, template).get(DOMAIN)
        if chosen is None or definition is None:
            continue
        text = text_file.read(Path(chosen))
        for name in domain_elements.elements(node):
            if f"{{{name}}}" not in text:
                yield f"{node.name}: {name} has no effect, because {chosen} has no placeholder {{{name}}}"
        if problem := _problem(definition):
            yield f"{node.name}: its libvirt domain, of {chosen}, {problem}"


def _problem(definition: str) -> str:
    """Returns what is wrong with a domain, or why it was not validated.

    Returns "" if it is valid, or if this host does not have the program.
    """
    words, given = [PROGRAM, "-", "domain"], definition.encode()
    try:
        done = subprocess.run(words, input=given, capture_output=True, timeout=_LIMIT, check=False)
    except OSError:
        return ""
    except subprocess.TimeoutExpired:
        return f"was not validated: {PROGRAM} did not end within {_LIMIT} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").splitlines()
    errors = [line.removeprefix("-:") for line in lines if " error " in line]
    if errors:
        return f"does not fit libvirt's schema: {single_line(errors[0], _LONGEST)}"
    reason = lines[-1] if lines else f"exit code {done.returncode}"
    return f"was not validated: {single_line(reason, _LONGEST)}"
