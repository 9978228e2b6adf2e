"""The files that define a virtual machine, from a template: a libvirt domain or a system container.

Fuel's rules apply (source 000, Data model impact): the operator may provide a template of the libvirt domain, and
further values for it. A value that the template does not use is ignored; a missing value is left empty. The templates
of each hypervisor are in blueprint/hypervisor_types.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from uuid import UUID, uuid5
from xml.sax.saxutils import escape

from blueprint.domain_template import PLACE, memory_of
from blueprint.plan.nodes import Node
from components.virt_host import domain_elements
from components.virt_host.domain_elements import Xml
from files import text_file

FOLDER = Path(__file__).parent

DOMAIN = "domain.xml"
"""Name of the file with the libvirt domain, which has the values in place of the placeholders."""
_NO_VALUES = {"values", "roles", "name", "huge_pages", "numa", "bridges", "template"}
"""Fields of a virtual machine that are not values of its template. Elements of the domain stand for options."""
_UUIDS = UUID("4f0a6f4e-54a1-4a43-9f0c-6f5d1f9f6a70")
"""Namespace of the domains' UUIDs. A constant of Quorate: another value would be another domain."""

Values = Mapping[str, str | int | float | bool]


def files(node: Node, template: str | None) -> dict[str, str]:
    """Returns the files that define a virtual machine, by name; {} for a physical server.

    `template`: path of the operator's template for the libvirt domains of the stack; None for Quorate's. A virtual
    machine may have another one of its own.
    """
    if node.machine.vm is None:
        return {}
    given = values(node)
    hypervisor = node.machine.hypervisor_type
    if not hypervisor.has_domain:
        return {name: fill(_own(name), given, str) for name in hypervisor.definition}
    chosen = node.machine.vm.template or template
    text = text_file.read(Path(chosen)) if chosen else _own(*hypervisor.definition)
    return {DOMAIN: fill(text, given, xml)}


def values(node: Node) -> Values:
    """Returns the values for a virtual machine's template.

    These are its settings in the stack file, its name, host and address, and what is derived from them. Options have
    elements of the domain as values.
    """
    if node.machine.vm is None:
        raise ValueError(f"{node.name} is not a virtual machine")
    said = node.machine.vm.model_dump(mode="json", exclude=_NO_VALUES)
    known = {
        "name": node.name,
        "server": node.server,
        "address": node.address,
        "type": str(node.machine.hypervisor),
        "memory": memory_of(node.machine.vm.ram),
        "cpuMode": node.machine.hypervisor_type.cpu_mode,
        # The same in every run, so that an interrupted `up` finds the domain and its lease again.
        "uuid": str(uuid5(_UUIDS, f"{node.server}/{node.name}/{node.address}")),
        "mac": domain_elements.mac(node),
        **domain_elements.elements(node),
    }
    return {**node.machine.vm.values, **said, **known}


def fill(template: str, given: Values, quote: Callable[[str], str]) -> str:
    """Returns a template with each `{placeholder}` replaced by its value, or by an empty text if it has no value.

    `quote`: escapes a value for the template's format. XML is not escaped.
    """

    def filled(place: re.Match[str]) -> str:
        value = given.get(place[1], "")
        return value if isinstance(value, Xml) else quote(_text(value))

    return PLACE.sub(filled, template)


def xml(text: str) -> str:
    """Escapes text for XML elements and for attributes in single or double quotes."""
    return escape(text, {"'": "&apos;", '"': "&quot;"})


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _own(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
