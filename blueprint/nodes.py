"""A machine as Kubernetes knows it: its pool, its labels, its taints. The one place that makes them.

Keys are design.md's ("Components"); beside Quorate's own stand those that existing clusters know.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from blueprint.inventory import HOST_RESERVE, Machine

SERVER = "quorate.io/server"
"""The physical host: the failure domain that two members of one quorum must not share."""
RACK = "quorate.io/rack"
ZONE = "topology.kubernetes.io/zone"
POOL = "quorate.io/pool"
DEDICATED = "quorate.io/dedicated"
"""Key of the taint that keeps every pod out of a pool but those that the pool admits."""
HOSTNAME = "kubernetes.io/hostname"

MASTER, COMPUTE, STORAGE = "master", "compute", "storage"
MONITORING, CONTROLLER = "monitoring", "controller"
"""Pools without an owning service; every other pool has the name of the service that owns it."""


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
        if COMPUTE in self.roles:
            labels["openstack-compute-node"] = "enabled"
        if self.pool not in (COMPUTE, MASTER, STORAGE):
            labels["openstack-control-plane"] = "enabled"
        return labels

    @property
    def taints(self) -> tuple[str, ...]:
        """Taints that kubelet registers the node with, as `key=value:effect`."""
        if self.pool == MASTER:
            return ("node-role.kubernetes.io/control-plane=:NoSchedule",)
        return (f"{DEDICATED}={self.pool}:NoSchedule",)


def node(machine: Machine, pool: str, dedicated_to: str | None = None, *, guests: tuple[Machine, ...] = ()) -> Node:
    """A machine put into a pool. What its virtual machines (`guests`) take is not there for pods."""
    facts = {item.name: getattr(machine, item.name) for item in fields(machine)}
    if guests:
        facts["memory"] = max(1, machine.memory - HOST_RESERVE - sum(guest.memory for guest in guests))
        facts["cpu"] = max(1, machine.cpu - sum(guest.cpu for guest in guests))
    return Node(**facts, pool=pool, dedicated_to=dedicated_to)
