"""Which changes of a definition libvirt applies to a running virtual machine, so that it is not restarted."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from xml.etree import ElementTree

from formats import disk_source

_TEXTS = ("title", "description", "metadata")
"""Elements that no guest sees: the stored definition is enough."""
_MEMORY, _CURRENT, _CPUS = "memory", "currentMemory", "vcpu"

Words = Sequence[str]


def commands(name: str, before: str, after: str) -> list[Words] | None:
    """Returns the virsh commands that change a running domain from one definition to another.

    None if the domain must restart. These elements change while it runs (libvirt, "Domain XML format"): `title`,
    `description` and `metadata`; `currentMemory`, up to `memory`; and the attribute `current` of `vcpu`, which can
    only grow, because a guest need not give up a processor. How a disk of the storage pool is named counts from
    the next start. `after` must be defined before.
    """
    old, new = (ElementTree.fromstring(text) for text in (before, after))  # noqa: S314 - the stack's own
    if _rest(old) != _rest(new) or _processors(new) < _processors(old):
        return None
    found: list[Words] = []
    if _memory(old) != _memory(new):
        found.append(["setmem", name, _memory(new), "--live"])
    if _processors(old) != _processors(new):
        found.append(["setvcpus", name, str(_processors(new)), "--live"])
    return found


def _rest(domain: ElementTree.Element) -> str:
    """Returns all of a definition that cannot change while it runs, in canonical form."""
    rest = copy.deepcopy(domain)
    disk_source.by_volume(rest)
    for tag in (*_TEXTS, _CURRENT):
        for each in rest.findall(tag):
            rest.remove(each)
    for each in rest.findall(_CPUS):
        each.attrib.pop("current", None)
    return ElementTree.canonicalize(ElementTree.tostring(rest, encoding="unicode"), strip_text=True)


def _memory(domain: ElementTree.Element) -> str:
    """Returns the current memory as virsh reads it; "" for a domain without any."""
    given = domain.find(_CURRENT)
    element = domain.find(_MEMORY) if given is None else given
    if element is None:
        return ""
    return f"{(element.text or '').strip()}{element.get('unit', 'KiB')}"


def _processors(domain: ElementTree.Element) -> int:
    """Returns the number of virtual CPUs that are online; libvirt's default is 1."""
    element = domain.find(_CPUS)
    return 1 if element is None else int(element.get("current") or element.text or 1)
