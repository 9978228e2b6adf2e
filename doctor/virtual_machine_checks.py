"""Checks what virtual machines need of their virt host beside memory: bridges, huge pages and NUMA nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from blueprint.domain_template import memory_of
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.virt import cpu_numbers, cpu_ranges
from doctor.checks import Problems
from doctor.facts import HugePages, ReadFacts

_PAGE = 2
"""MiB of a huge page, as in the elements of the domain."""


_MANAGEMENT = "br-mgmt"
"""The bridge of the first interface in the default templates."""


def uses_huge_pages(machine: Machine) -> bool:
    """Whether the machine is a virtual machine whose memory is in huge pages."""
    return machine.vm is not None and machine.vm.huge_pages


def problems(
    facts: ReadFacts, guests: Sequence[Machine], missing: Sequence[Machine], template: str | None = None
) -> Problems:
    """Yields what the host lacks. `guests`: its virtual machines. `missing`: those that do not run yet.

    `template`: the stack's own template, whose bridges are not known.
    """
    yield from _bridges(facts, guests, template)
    yield from _huge_pages("it", facts.huge_pages, guests, missing)
    yield from _pinning(facts, guests, missing)


def tenants(facts: ReadFacts, shared: str) -> Problems:
    """Yields the CPUs of tenants that are not online, with which nova-compute offers nothing.

    `shared`: the CPUs of tenants beside pinned virtual machines (blueprint/plan/host_reserves.py); "" without them.
    """
    online = frozenset[int]().union(*(cpu_numbers(node.cpus) for node in facts.numa.values()))
    if online and (missing := cpu_numbers(shared) - online):
        yield (
            f"CPUs {cpu_ranges(missing)} are not online, and Nova gives them to tenants (cpu_shared_set {shared})",
            "enable them, correct cpu in servers of the stack file, or set cpu_shared_set of the node in quorate:nodes",
        )


def _bridges(facts: ReadFacts, guests: Sequence[Machine], template: str | None) -> Problems:
    users: dict[str, list[str]] = defaultdict(list)
    for guest in guests:
        if guest.vm:
            own = guest.vm.template or template
            for bridge in {*([] if own else [_MANAGEMENT]), *guest.vm.bridges}:
                users[bridge].append(guest.name)
    for bridge, names in sorted(users.items()):
        if bridge not in facts.all("bridge"):
            yield (
                f"it has no bridge {bridge} for {', '.join(names)}",
                "make it there, with its network's interface in it",
            )


def _pinning(facts: ReadFacts, guests: Sequence[Machine], missing: Sequence[Machine]) -> Problems:
    for guest in guests:
        numa = guest.vm.numa if guest.vm else None
        if numa and numa.node not in facts.numa:
            yield f"it has no NUMA node {numa.node}, which {guest.name} is pinned to", "correct numa in the stack file"
        elif numa and not cpu_numbers(numa.cpus) <= cpu_numbers(cpus := facts.numa[numa.node].cpus):
            problem = f"NUMA node {numa.node} has the CPUs {cpus or 'none'}, and {guest.name} is pinned to {numa.cpus}"
            yield problem, "correct numa in the stack file"
    for number, node in facts.numa.items():
        pinned, waiting = (
            [each for each in machines if each.vm and each.vm.numa and each.vm.numa.node == number]
            for machines in (guests, missing)
        )
        yield from _huge_pages(f"NUMA node {number}", node.pages, pinned, waiting)


def _huge_pages(place: str, pages: HugePages, guests: Sequence[Machine], missing: Sequence[Machine]) -> Problems:
    """Compares the huge pages with all virtual machines, and the free ones with those that do not run yet.

    A machine that runs may do so without huge pages, and needs them at its next start.
    """
    remedy = (
        "reserve more, for example with vm.nr_hugepages in /etc/sysctl.d, or per NUMA node on the kernel's command line"
    )
    for count, kind, machines in ((pages.total, "", guests), (pages.free, "free ", missing)):
        users = [each for each in machines if uses_huge_pages(each)]
        need = sum(-(-memory_of(each.memory) // _PAGE) for each in users)
        if need > count:
            names = ", ".join(each.name for each in users)
            yield f"{place} has {count} {kind}huge pages of 2 MiB; {names} need {need}", remedy
            return
