"""What goes out together in a maintenance: a server with its virtual machines, or a single machine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from operations.living.cloud import OSD

COMPUTE = "nova-compute"


@dataclass(frozen=True)
class MaintenanceDomain:
    """A failure domain that a maintenance takes out: its name, and its machines."""

    name: str
    machines: tuple[Node, ...]
    computes: tuple[str, ...]
    """Its machines with nova-compute."""
    storage: tuple[str, ...]
    """Its machines with OSDs."""

    @property
    def own(self) -> Node | None:
        """The machine of the domain's own name; None for a server that only carries virtual machines."""
        return next((node for node in self.machines if node.name == self.name), None)

    @property
    def all(self) -> tuple[str, ...]:
        """Names of its machines."""
        return tuple(node.name for node in self.machines)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of its machines that are nodes of Kubernetes."""
        return tuple(node.name for node in self.machines if node.is_kubernetes_node)


def named(plan: Plan, name: str) -> MaintenanceDomain | None:
    """Returns the server of a name with all machines on it, or else the machine of this name; None without either."""
    own = tuple(node for node in plan.machines if node.server == name)
    own = own or tuple(node for node in plan.machines if node.name == name)
    return _domain(plan, name, own) if own else None


def of_pool(plan: Plan, pool: str) -> tuple[MaintenanceDomain, ...]:
    """Returns the domains of a pool's nodes, in the order of the plan; () if no node has this pool.

    A server goes with its virtual machines, and a virtual machine without its server.
    """
    found = dict.fromkeys(node.name if node.virtual else node.server for node in plan.pool(pool))
    return tuple(domain for name in found if (domain := named(plan, name)))


def pools_of(plan: Plan) -> tuple[str, ...]:
    """Returns the names of a plan's pools, sorted."""
    return tuple(sorted({node.pool for node in plan.nodes}))


def names_of(plan: Plan) -> tuple[str, ...]:
    """Returns what a maintenance may name: servers and machines, sorted."""
    return tuple(sorted({node.name for node in plan.machines} | {node.server for node in plan.machines}))


def batch_size(batch: str, members: int) -> int:
    """Returns how many of `members` domains are out at a time, at least one: a number, or a percentage such as 10%.

    Raises ValueError if the text is neither, or not positive, or more than 100%.
    """
    if not (found := re.fullmatch(r"([0-9]{1,6})(%?)", batch)):
        raise ValueError(batch)
    number = int(found[1])
    if number < 1 or (found[2] and number > 100):
        raise ValueError(batch)
    return max(1, members * number // 100) if found[2] else min(number, members)


def _domain(plan: Plan, name: str, machines: tuple[Node, ...]) -> MaintenanceDomain:
    def carrying(process: str) -> tuple[str, ...]:
        pools = {pool for service in plan.processes if service.process == process for pool in service.pools}
        return tuple(node.name for node in machines if node.pool in pools)

    return MaintenanceDomain(name, machines, carrying(COMPUTE), carrying(OSD))
