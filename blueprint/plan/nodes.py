"""A machine as a Kubernetes node: its pool, what pods may take of it, its labels, its taints. Nothing else makes them.

`contract` has the keys; beside Quorate's own there are those that existing clusters know.
"""

from __future__ import annotations

from dataclasses import dataclass

import contract
from blueprint.stackfile.inventory import HOST_RESERVE, Machine
from contract import COMPUTE_POOL, CONTROLLER_POOL, DEDICATED, MASTER_POOL, MONITORING_POOL, POOL, RACK, SERVER, ZONE


@dataclass(frozen=True)
class Capacity:
    """What a machine has, or a part of it."""

    cpu: int
    """Cores."""
    memory: int
    """GiB."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A machine that runs workloads, and the one pool that it belongs to."""

    machine: Machine
    pool: str
    allocatable: Capacity
    """What pods may request together: all of the machine, less what its virtual machines and its host system take."""
    dedicated_to: str | None = None
    """The service that the node is dedicated to; None where no row of the architecture dedicates it."""

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def server(self) -> str:
        """The physical host: the failure domain."""
        return self.machine.server

    @property
    def rack(self) -> str | None:
        """The rack of the physical host."""
        return self.machine.rack

    @property
    def address(self) -> str:
        """The machine's address in the management network."""
        return self.machine.address

    @property
    def roles(self) -> tuple[str, ...]:
        """The machine's roles."""
        return self.machine.roles

    @property
    def virtual(self) -> bool:
        """Whether the machine is a virtual machine."""
        return self.machine.virtual

    @property
    def reserved(self) -> Capacity:
        """What is not for pods: the share of virtual machines and of the system that carries them; often nothing."""
        return Capacity(self.machine.cpu - self.allocatable.cpu, self.machine.memory - self.allocatable.memory)

    @property
    def pinned(self) -> bool:
        """Whether the stack file alone decides its pool, by `pool:` or by its role, and not a choice of the planner."""
        return self.dedicated_to is None or self.machine.pin is not None

    @property
    def labels(self) -> dict[str, str]:
        """Labels that kubelet registers the node with."""
        labels = {POOL: self.pool, SERVER: self.server}
        if self.rack:
            labels |= {RACK: self.rack, ZONE: self.rack}
        if COMPUTE_POOL in self.roles:
            labels[contract.COMPUTE_NODE] = "enabled"
        if {CONTROLLER_POOL, MONITORING_POOL} & set(self.roles):
            labels[contract.CONTROL_PLANE_NODE] = "enabled"
        return labels

    @property
    def taints(self) -> tuple[str, ...]:
        """Taints that kubelet registers the node with, as `key=value:effect`.

        A master that carries other roles has none: pods of the cluster itself, CoreDNS first, tolerate only the taint
        of masters, and where every master is such a machine they would find no node.
        """
        if self.pool == MASTER_POOL:
            return (f"{contract.CONTROL_PLANE_TAINT}=:NoSchedule",)
        if MASTER_POOL in self.roles:
            return ()
        return (f"{DEDICATED}={self.pool}:NoSchedule",)


def node(machine: Machine, pool: str, dedicated_to: str | None = None, *, guests: tuple[Machine, ...] = ()) -> Node:
    """Puts a machine into a pool. What its virtual machines (`guests`) take is not there for pods."""
    cpu, memory = machine.cpu, machine.memory
    if guests:
        cpu = max(1, cpu - sum(guest.cpu for guest in guests))
        memory = max(1, memory - HOST_RESERVE - sum(guest.memory for guest in guests))
    return Node(machine=machine, pool=pool, allocatable=Capacity(cpu, memory), dedicated_to=dedicated_to)
