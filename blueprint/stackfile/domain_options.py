"""Checks the keys of a virtual machine that change its libvirt domain: hugePages, numa, bridges, template, free keys.

Free keys are values for the template, as in Fuel (source 000, Data model impact). A misspelt key looks like one, so a
free key must differ from all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from blueprint import domain_template
from blueprint.hypervisor_types import HYPERVISOR_TYPES, VIRTUAL_MACHINES
from blueprint.problems import Problem
from blueprint.stackfile.servers import Server, VirtualMachine
from blueprint.stackfile.settings import Settings
from blueprint.stackfile.virt import Numa
from text.suggestion import closest

_KEYS = {"hugePages": "huge_pages", "numa": "numa", "bridges": "bridges", "template": "template"}
"""The keys, and the names of their fields."""
_ALIKE = 0.75
"""Similarity (difflib's ratio) from which a free key counts as misspelt. Fuel's new_value and values have 0.67."""


def problems(vm: VirtualMachine, server: Server, key: str, settings: Settings) -> Iterator[Problem]:
    """Yields the problems of these keys. `key`: the virtual machine's key in the stack file."""
    yield from _free_keys(vm, key)
    if refused := [*_refused(vm, server, key, settings)]:
        yield from refused
        return
    if vm.numa:
        yield from _cpus(vm.numa, f"{key}.numa.cpus")
    for bridge, count in Counter(vm.bridges).items():
        if count > 1:
            yield Problem(f"{key}.bridges", f"'{bridge}' is listed twice; write it once")
    yield from domain_template.problems(vm.template, f"{key}.template")


def _refused(vm: VirtualMachine, server: Server, key: str, settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each key that has no effect on this machine."""
    hypervisor = HYPERVISOR_TYPES[server.hypervisor]
    for name, field in _KEYS.items():
        if not getattr(vm, field):
            continue
        if settings.has_existing_machines:
            advice = "with machines: existing, remove it"
            yield Problem(f"{key}.{name}", f"defines a machine that Quorate makes; {advice}")
        elif not (hypervisor.has_own_kernel or (name == "template" and hypervisor.has_domain)):
            advice = f"remove it, or write hypervisor: {' or '.join(VIRTUAL_MACHINES)}"
            yield Problem(f"{key}.{name}", f"has no effect with hypervisor {server.hypervisor}; {advice}")


def _free_keys(vm: VirtualMachine, key: str) -> Iterator[Problem]:
    known = [field.alias or name for name, field in VirtualMachine.model_fields.items()]
    for name in vm.model_extra or {}:
        where = f"{key}.{name}"
        if meant := closest(name, known, _ALIKE):
            advice = f"write {meant}; a value of your template with such a name belongs under values"
            yield Problem(where, f"unknown key (did you mean '{meant}'?); {advice}")
        elif name in domain_template.DERIVED:
            yield Problem(where, "Quorate derives this value; remove it")
        elif name in vm.values:
            yield Problem(where, "is under values too; write it once")
        elif not domain_template.PLACE.fullmatch(f"{{{name}}}"):
            yield Problem(
                where, "is not a valid name of a placeholder; write letters, digits and '_', the first not a digit"
            )


def _cpus(numa: Numa, key: str) -> Iterator[Problem]:
    for part in numa.cpus.split(","):
        first, _, last = part.partition("-")
        if last and int(first) > int(last):
            yield Problem(key, f"{part} ends before it begins; write the smaller number first, such as {last}-{first}")
