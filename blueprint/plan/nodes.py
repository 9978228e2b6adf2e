"""A machine as Kubernetes knows it: its pool, its labels, its taints. The one place that makes them.

Keys are design.md's ("Components"); beside Quorate's own stand those that existing clusters know.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import contract
from blueprint.inventory import HOST_RESERVE, Machine
from contract import COMPUTE_POOL, DEDICATED, MASTER_POOL, POOL, RACK, SERVER, STORAGE_POOL, ZONE


@dataclass(frozen=True, kw_only=True)
class Node(Machine):
    """A machine that runs workloads, and the one pool that it belongs to."""

    pool: str
    dedicated_to: str | None = None
    """The service that the node is kept for; None where no row of the architecture dedicates it."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels that kubelet registers the node with."""
        labels = {POOL: self.pool, SERVER: self.server}
        if self.rack:
            labels |= {RACK: self.rack, ZONE: self.rack}
        if COMPUTE_POOL in self.roles:
            labels[contract.COMPUTE_NODE] = "enabled"
        if self.pool not in (COMPUTE_POOL, MASTER_POOL, STORAGE_POOL):
            labels[contract.CONTROL_PLANE_NODE] = "enabled"
        return labels

    @property
    def taints(self) -> tuple[str, ...]:
        """Taints that kubelet registers the node with, as `key=value:effect`."""
        if self.pool == MASTER_POOL:
            return (f"{contract.CONTROL_PLANE_TAINT}=:NoSchedule",)
        return (f"{DEDICATED}={self.pool}:NoSchedule",)


def node(machine: Machine, pool: str, dedicated_to: str | None = None, *, guests: tuple[Machine, ...] = ()) -> Node:
    """A machine put into a pool. What its virtual machines (`guests`) take is not there for pods."""
    facts = {item.name: getattr(machine, item.name) for item in fields(machine)}
    if guests:
        facts["memory"] = max(1, machine.memory - HOST_RESERVE - sum(guest.memory for guest in guests))
        facts["cpu"] = max(1, machine.cpu - sum(guest.cpu for guest in guests))
    return Node(**facts, pool=pool, dedicated_to=dedicated_to)
