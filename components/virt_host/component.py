"""A server of role virt, and the virtual machines that live and die with it."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

import contract
from blueprint.inventory import Machine
from blueprint.plan.nodes import Node
from components.component import Component, Facts, plain
from components.machine import MachineArgs
from components.target import Target


@dataclass(frozen=True)
class VirtHostArgs:
    """The server, its virtual machines, and the files of each by its node's name."""

    host: Machine
    guests: tuple[Node, ...]
    files: dict[str, dict[str, str]]
    target: Target


class VirtHost(Component[VirtHostArgs]):
    """A physical host, alone or as a compute as well (seed 000, Proposed change)."""

    token = contract.VIRT_HOST
    machines: dict[str, pulumi.Resource]
    """By the node's name."""

    @staticmethod
    def facts(args: VirtHostArgs) -> Facts:
        vms = [
            {"node": vm.name, "cpu": vm.machine.cpu, "memory": vm.machine.memory, "roles": vm.roles}
            for vm in args.guests
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
        self.machines = {
            guest.name: args.target.machine(
                f"{name}-{guest.name}", MachineArgs(guest, args.files[guest.name]), self.child()
            )
            for guest in args.guests
        }
