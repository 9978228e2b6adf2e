"""A virtual machine's own files: its libvirt domain, or its system container, from a template.

Fuel's rules for the template (source 000, Data model impact): a person may bring one, with values of their own; a value
that the template does not use changes nothing, and one that was not given is left empty. Hypervisors are source 002's:
kvm and lxc are libvirt domains, a container is one under systemd with a full init, as that source asks for, and has no
domain at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from blueprint.domain_template import PLACE
from blueprint.plan.nodes import Node
from files import text_file

FOLDER = Path(__file__).parent

DOMAINS = {"kvm": "domain.xml", "lxc": "domain-lxc.xml"}
CONTAINER = ("container.nspawn", "limits.conf")

Values = Mapping[str, str | int | float | bool]


def files(node: Node, template: str | None) -> dict[str, str]:
    """The files that make the virtual machine; none for a physical server. `template`: a person's own domain."""
    if node.machine.vm is None:
        return {}
    given = values(node)
    if node.machine.hypervisor == "container":
        return {name: fill(_own(name), given, str) for name in CONTAINER}
    text = text_file.read(Path(template)) if template else _own(DOMAINS[node.machine.hypervisor or "kvm"])
    return {"domain.xml": fill(text, given, xml)}


def values(node: Node) -> Values:
    """What a template may use: whatever the stack says of the machine, and what it is known by."""
    if node.machine.vm is None:
        raise ValueError(f"{node.name} is not a virtual machine")
    said = node.machine.vm.model_dump(mode="json", exclude={"values", "roles", "name"})
    known = {
        "name": node.name,
        "server": node.server,
        "address": node.address,
        "type": node.machine.hypervisor or "kvm",
    }
    return {**node.machine.vm.values, **said, **known}


def fill(template: str, given: Values, quote: Callable[[str], str]) -> str:
    """The template with every `{value}` in place, or nothing where it was not given."""
    return PLACE.sub(lambda place: quote(_text(given.get(place[1], ""))), template)


def xml(text: str) -> str:
    """Text as it may stand between tags and in an attribute of either quote."""
    return escape(text, {"'": "&apos;", '"': "&quot;"})


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _own(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
