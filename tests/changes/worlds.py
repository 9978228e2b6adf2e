"""Builders of stacks to compare, made from one cloud that breaks no rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from changes.change import Change
from changes.compare import changes
from tests.policy.world import Given, facts, machine, whole_stack

CLOUD = whole_stack()
"""Architecture 100: three masters with etcd, three nodes each of rabbitmq and mysqld, five computes, three for OSDs."""

DOMAIN = """<domain><devices>
<disk type='file' device='disk'><source file='/images/{image}.qcow2'/><target dev='vda'/></disk>
<disk type='file' device='cdrom'><source file='/images/{cdrom}.iso'/><target dev='sda'/></disk>
</devices></domain>"""


def vm(name: str, pool: str, server: str = "virt1", **changes: object) -> Given:
    """A node that is a virtual machine, with a disk."""
    definition = {"domain.xml": DOMAIN.format(image=name, cdrom="seed")}
    made = machine(name, pool, server=server, definition=definition)
    return made.but(virtual=True, allocatable={"cpu": 4, "memory": 8}).but(**changes)


def edited(given: Iterable[Given], name: str, type_: str = "", **changes: object) -> list[Given]:
    """Returns the stack with the resources of a name (and kind) changed."""
    found = [each.but(**changes) if _meant(each, name, type_) else each for each in given]
    assert found != list(given), f"there is no {name} to change"
    return found


def without(given: Iterable[Given], *names: str) -> list[Given]:
    """Returns the stack without the resources of these names."""
    return [each for each in given if each.name not in names]


def replaced(given: Iterable[Given], *new: Given) -> list[Given]:
    """Returns the stack with these resources added, or in place of resources of the same type and name."""
    urns = {each.urn for each in new}
    return [*(each for each in given if each.urn not in urns), *new]


def compared(before: Sequence[Given], after: Sequence[Given]) -> list[Change]:
    """Returns the changes from one stack to the other."""
    return changes(facts(before).resources, facts(after).resources)


def _meant(given: Given, name: str, type_: str) -> bool:
    return given.name == name and given.type.endswith(type_)
