"""Defines a machine as a Kubernetes node: its pool, allocatable resources, labels and taints.

A machine of role etcd is not a Kubernetes node: it has no pool, no labels and no taints, and no pod can run on it.

The module `contract` defines the keys of labels and taints: Quorate's own, and common ones of Kubernetes and OpenStack.
"""

from __future__ import annotations

from dataclasses import dataclass

import contract
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.server_checks import HOST_RESERVE
from contract import COMPUTE_POOL, CONTROLLER_POOL, DEDICATED, MASTER_POOL, MONITORING_POOL, POOL, RACK, SERVER, ZONE


@dataclass(frozen=True)
class Capacity:
    """CPU and memory of a machine, or the part of them that pods may use."""

    cpu: int
    """CPU in cores."""
    memory: int
    """Memory in GiB."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A machine that runs workloads, and the one pool that it belongs to; or a machine of role etcd."""

    machine: Machine
    pool: str
    """The node's pool; "" for a machine of role etcd, which is not a Kubernetes node."""
    allocatable: Capacity
    """The resources that all pods together may request: the machine's, less those of its VMs and a host reserve."""
    dedicated_to: str | None = None
    """The service that the node is dedicated to; None for a node that is not dedicated."""

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def server(self) -> str:
        """Name of the machine's physical host, which is the failure domain."""
        return self.machine.server

    @property
    def rack(self) -> str | None:
        """The rack of the machine's physical host; None if it is not known."""
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
    def is_kubernetes_node(self) -> bool:
        """Whether the machine joins the cluster and may run pods."""
        return bool(self.pool)

    @property
    def reserved(self) -> Capacity:
        """The resources that pods may not use: those of the machine's virtual machines and a host reserve.

        Zero for a machine without virtual machines.
        """
        return Capacity(self.machine.cpu - self.allocatable.cpu, self.machine.memory - self.allocatable.memory)

    @property
    def pinned(self) -> bool:
        """Whether the stack file determines the node's pool, by `pool:` or by the role, and the planner does not."""
        return self.dedicated_to is None or self.machine.pin is not None

    @property
    def labels(self) -> dict[str, str]:
        """Labels that kubelet registers the node with; {} for a machine that is not a Kubernetes node."""
        if not self.is_kubernetes_node:
            return {}
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

        A master with other roles has no taint: Pods of the cluster itself, such as CoreDNS, tolerate only the taint of
        masters, and would have no eligible node if all masters had another taint.
        """
        if not self.is_kubernetes_node:
            return ()
        if self.pool == MASTER_POOL:
            return (f"{contract.CONTROL_PLANE_TAINT}=:NoSchedule",)
        if MASTER_POOL in self.roles:
            return ()
        return (f"{DEDICATED}={self.pool}:NoSchedule",)


def node(machine: Machine, pool: str, dedicated_to: str | None = None, *, guests: tuple[Machine, ...] = ()) -> Node:
    """Returns a machine as a node of a pool. `guests`: its virtual machines, whose resources pods may not use.

    `dedicated_to`: the service that the node is dedicated to, if any.
    """
    cpu, memory = machine.cpu, machine.memory
    if guests:
        cpu = max(1, cpu - sum(guest.cpu for guest in guests))
        memory = max(1, memory - HOST_RESERVE - sum(guest.memory for guest in guests))
    return Node(machine=machine, pool=pool, allocatable=Capacity(cpu, memory), dedicated_to=dedicated_to)


def etcd_machine(machine: Machine) -> Node:
    """Returns a machine of role etcd, on which pods may request nothing."""
    return Node(machine=machine, pool="", allocatable=Capacity(0, 0))
