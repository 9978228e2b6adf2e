"""Checks that compare machines with each other: their network, their identity, and virt hosts with their machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from blueprint.hypervisor_types import HypervisorType
from blueprint.plan.host_reserves import HostReserve
from blueprint.plan.nodes import Node
from doctor import virtual_machine_checks
from doctor.checks import MachineFinding, Problems
from doctor.login import Reading

NETWORK = "network"
IDENTITY = "identity"
VIRT_HOST = "virt host"
"""Names of the checks."""


def network(nodes: Sequence[Node], readings: Mapping[str, Reading]) -> Iterator[MachineFinding]:
    """Yields machines whose address no interface has, and those whose MTU differs from most machines'."""
    by_mtu: dict[int, list[str]] = defaultdict(list)
    for node in nodes:
        if node.name in readings:
            mtu = readings[node.name].facts.mtu(node.address)
            if mtu is None:
                problem = f"no interface has the address {node.address}"
                yield MachineFinding(NETWORK, node.name, problem, "set it there, or correct address in the stack file")
            else:
                by_mtu[mtu].append(node.name)
    if by_mtu:
        usual = max(by_mtu, key=lambda each: len(by_mtu[each]))
        for mtu, names in by_mtu.items():
            for name in names if mtu != usual else ():
                problem = f"its interface has an MTU of {mtu}, and most machines {usual}"
                yield MachineFinding(NETWORK, name, problem, "set one MTU for all, also in the switches")


def identities(readings: Mapping[str, Reading]) -> Iterator[MachineFinding]:
    """Yields machines that share a machine ID, as clones of one image do: they get the same names and addresses."""
    by_id: dict[str, list[str]] = defaultdict(list)
    for name, reading in readings.items():
        by_id[reading.facts.one("machine-id")].append(name)
    for machine_id, names in by_id.items():
        if not machine_id:
            for name in names:
                yield MachineFinding(IDENTITY, name, "it has no machine ID", "run `systemd-machine-id-setup` there")
        for name in names[1:] if machine_id else ():
            remedy = "remove /etc/machine-id there, run `systemd-machine-id-setup`, and reboot"
            yield MachineFinding(IDENTITY, name, f"it has the machine ID of {names[0]}", remedy)


def virt_hosts(
    nodes: Sequence[Node],
    readings: Mapping[str, Reading],
    template: str | None = None,
    reserves: Mapping[str, HostReserve] | None = None,
) -> Iterator[MachineFinding]:
    """Yields virt hosts without their hypervisor, or without what their virtual machines need.

    `template`: the stack's own template of virtual machines. `reserves`: what Nova keeps from tenants, by node.
    """
    machines = {node.name: node.machine for node in nodes}
    for name, machine in machines.items():
        if name in readings and machine.vms:
            facts, hypervisor = readings[name].facts, machine.hypervisor_type
            for problem, remedy in _hypervisor(hypervisor, facts.all("libvirt"), facts.all("program")):
                yield MachineFinding(VIRT_HOST, name, problem, remedy)
            if hypervisor.device and not facts.one(PurePath(hypervisor.device).name):
                remedy = "enable virtualization in its firmware, or write hypervisor: container"
                yield MachineFinding(VIRT_HOST, name, f"it has no {hypervisor.device}", remedy)
            missing = [machines[vm] for vm in machine.vms if vm not in facts.all("domain") and vm not in readings]
            # Huge pages do not count as available memory.
            ordinary = [each for each in missing if not virtual_machine_checks.uses_huge_pages(each)]
            need = sum(each.memory for each in ordinary)
            available = facts.gibibytes("available") or 0.0
            if available < need:
                names = ", ".join(each.name for each in ordinary)
                problem = f"{available:.1f} GiB of memory are free; {names} need {need}"
                yield MachineFinding(VIRT_HOST, name, problem, "free memory there, or write smaller virtual machines")
            guests = [machines[vm] for vm in machine.vms]
            for problem, remedy in virtual_machine_checks.problems(facts, guests, missing, template):
                yield MachineFinding(VIRT_HOST, name, problem, remedy)
            if reserves and name in reserves:
                for problem, remedy in virtual_machine_checks.tenants(facts, reserves[name].shared):
                    yield MachineFinding(VIRT_HOST, name, problem, remedy)


def _hypervisor(hypervisor: HypervisorType, connections: Sequence[str], found: Sequence[str]) -> Problems:
    if not hypervisor.has_domain:
        if "systemd-nspawn" not in found:
            yield "systemd-nspawn is missing", "install systemd-container"
    elif hypervisor.connection not in connections:
        yield (
            f"libvirt does not answer at {hypervisor.connection}",
            "install and start libvirtd, with the driver of the hypervisor",
        )
