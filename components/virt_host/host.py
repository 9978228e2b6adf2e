"""The component of a server with the role virt: the server and its virtual machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import contract
from blueprint.plan.nodes import Node
from blueprint.stackfile.inventory import Machine as Server
from components.component import Component, Facts, plain


@dataclass(frozen=True)
class VirtHostArgs:
    """A server with the role virt, and the nodes that are its virtual machines."""

    host: Server
    guests: Sequence[Node]


class VirtHost(Component[VirtHostArgs]):
    """A physical host of virtual machines, which may also be a compute (source 000, Proposed change).

    Its children are the machines that are its virtual machines.
    """

    token = contract.VIRT_HOST

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
        """Creates no resources: all masters are created before other machines, whichever server they are on."""
