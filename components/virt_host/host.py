"""The component of a server with the role virt: the server and its virtual machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import contract
from blueprint.stackfile.inventory import Machine as Server
from components.component import Component, Facts, plain
from components.machine import Machine, MachineArgs, Turns


@dataclass(frozen=True)
class VirtHostArgs:
    """A server with the role virt, its virtual machines, and the order in which machines change."""

    host: Server
    guests: Sequence[MachineArgs]
    turns: Turns


class VirtHost(Component[VirtHostArgs]):
    """A physical host of virtual machines, which may also be a compute (source 000, Proposed change)."""

    token = contract.VIRT_HOST

    @staticmethod
    def facts(args: VirtHostArgs) -> Facts:
        vms = [
            {"node": vm.name, "cpu": vm.machine.cpu, "memory": vm.machine.memory, "roles": vm.roles}
            for vm in (guest.node for guest in args.guests)
        ]
        return plain(
            server=args.host.name,
            hypervisor=args.host.hypervisor,
            vms=vms,
            host_memory=args.host.memory,
            host_cpu=args.host.cpu,
            host_roles=args.host.roles,
        )

    def build(self, name: str, args: VirtHostArgs) -> None:
        for guest in args.guests:
            opts = self.child(depends_on=args.turns.before(guest.parts))
            args.turns.add(guest.parts, Machine(f"{name}-{guest.node.name}", guest, opts))
