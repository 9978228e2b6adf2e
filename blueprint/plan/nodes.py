"""A machine as a Kubernetes node: its pool, allocatable resources, labels and taints. No other module sets labels.

`contract` defines the keys: Quorate's own, and those in use in existing clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import contract
from blueprint.stackfile.inventory import HOST_RESERVE, Machine
from contract import COMPUTE_POOL, CONTROLLER_POOL, DEDICATED, MASTER_POOL, MONITORING_POOL, POOL, RACK, SERVER, ZONE


@dataclass(frozen=True)
class Capacity:
    """CPU and memory of a machine, or a part of them."""

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
    """What all pods together may request: the machine's resources minus those of its virtual machines and host."""
    dedicated_to: str | None = None
    """The service that the node is dedicated to; None for a node that is not dedicated."""

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
        """What pods may not use: the share of the machine's virtual machines and host system; zero without VMs."""
        return Capacity(self.machine.cpu - self.allocatable.cpu, self.machine.memory - self.allocatable.memory)

    @property
    def pinned(self) -> bool:
        """Whether the stack file determines the pool, by `pool:` or by the role, so that the planner has no choice."""
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

        A master with other roles has no taint. Pods of the cluster itself, such as CoreDNS, tolerate only the masters'
        taint, and would have no eligible node if every master carried another one.
        """
        if self.pool == MASTER_POOL:
            return (f"{contract.CONTROL_PLANE_TAINT}=:NoSchedule",)
        if MASTER_POOL in self.roles:
            return ()
        return (f"{DEDICATED}={self.pool}:NoSchedule",)


def node(machine: Machine, pool: str, dedicated_to: str | None = None, *, guests: tuple[Machine, ...] = ()) -> Node:
    """Puts a machine into a pool. Resources of its virtual machines (`guests`) are not available to pods."""
    cpu, memory = machine.cpu, machine.memory
    if guests:
        cpu = max(1, cpu - sum(guest.cpu for guest in guests))
        memory = max(1, memory - HOST_RESERVE - sum(guest.memory for guest in guests))
    return Node(machine=machine, pool=pool, allocatable=Capacity(cpu, memory), dedicated_to=dedicated_to)
