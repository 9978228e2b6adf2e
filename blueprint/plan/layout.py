"""Which pools there are, and which services may run on which: the architecture's rows met with the stack's machines.

topology_layout.py does the same from a Fuel-CCP topology. Both produce a `Layout`; the assignment proves it feasible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blueprint.architecture.model import Architecture, Row
from blueprint.plan import pools
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Override, Settings
from contract import COMPUTE_POOL, MONITORING_POOL


@dataclass(frozen=True)
class ServicePlan:
    """A row of the architecture in this stack: how many instances, on which pools."""

    name: str
    row: str
    instances: int
    dedicated_nodes: int
    shareable: bool
    load_balancer: bool
    pools: tuple[str, ...]
    """Pools it may run on, its home first."""
    everywhere: bool
    quorum: bool
    apart_from: tuple[str, ...]
    replaced_by: str | None
    override: Override
    source: str
    companion_of: str | None = None
    """The service that it accompanies; `row` is then that service's row, which does not count it."""

    @property
    def pool(self) -> str:
        """Its home: the pool it owns, or the first that admits it."""
        return self.pools[0]

    def parts(self, nodes: Sequence[Node]) -> tuple[tuple[str, ServicePlan], ...]:
        """The workloads that it is deployed as, by name: two where it runs on every compute and on other nodes too."""
        others = tuple(pool for pool in self.pools if pool != COMPUTE_POOL)
        if not self.everywhere or len(others) in (0, len(self.pools)):
            return ((self.name, self),)
        split = ((self.name, (COMPUTE_POOL,)), (f"{self.name}-network", others))
        return tuple(
            (name, replace(self, pools=pools, instances=sum(node.pool in pools for node in nodes)))
            for name, pools in split
        )


@dataclass(frozen=True)
class Layout:
    """Nodes in their pools, services with the pools they may use, and what is missing."""

    nodes: tuple[Node, ...]
    services: tuple[ServicePlan, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()


def by_architecture(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> Layout:
    """Machines dealt out to the rows that own nodes, every other row where the architecture admits it."""
    nodes, problems = pools.assign_pools(inventory, architecture, _dedicated(settings, architecture))
    sizes = Counter(node.pool for node in nodes)
    dedicated = [node for node in nodes if node.dedicated_to]
    services = tuple(_service_plan(row, settings, dedicated, sizes) for row in architecture.rows)
    return Layout(nodes, services, tuple(problems))


def service_plan(
    row: Row, settings: Settings, dedicated: Sequence[Node], usable: tuple[str, ...], instances: int
) -> ServicePlan:
    """A row with its pools and count in this stack. `dedicated`: all nodes that are dedicated to a row."""
    return ServicePlan(
        name=row.service,
        row=row.row,
        instances=0 if row.replaced_by else instances,
        dedicated_nodes=sum(node.dedicated_to == row.service for node in dedicated),
        shareable=row.shareable,
        load_balancer=row.load_balancer,
        pools=usable,
        everywhere=row.everywhere,
        quorum=row.quorum,
        apart_from=row.apart_from,
        replaced_by=row.replaced_by,
        override=settings.services.get(row.service, Override()),
        source="; ".join(str(source) for source in row.sources),
    )


def _instances(row: Row, settings: Settings) -> int:
    return settings.services.get(row.service, Override()).replicas or row.instances or 0


def _dedicated(settings: Settings, architecture: Architecture) -> dict[str, int]:
    """Nodes each owner wants: the row's, and one for every replica that a stack adds."""
    return {row.service: max(row.dedicated_nodes, _instances(row, settings)) for row in architecture.owners}


def _service_plan(row: Row, settings: Settings, dedicated: Sequence[Node], sizes: Mapping[str, int]) -> ServicePlan:
    """`sizes`: how many nodes each pool has."""
    runs_on = row.runs_on
    if row.monitoring and not row.owner and MONITORING_POOL in sizes:
        runs_on = (MONITORING_POOL,)
    # Surplus pools count only where the stack has such nodes; a home stays, so that what is missing is said of it.
    usable = tuple(pool for pool in runs_on if pool in sizes) or runs_on[:1]
    instances = sum(sizes.get(pool, 0) for pool in usable) if row.everywhere else _instances(row, settings)
    return service_plan(row, settings, dedicated, usable, instances)
