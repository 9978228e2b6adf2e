"""Divides a stack's machines into pools, and determines by the architecture's rows which pools each service may use.

topology_layout.py does the same by a Fuel-CCP topology. Both return a `Layout`; assignment.py then proves that it is
feasible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint import replicas
from blueprint.architecture.model import Architecture, Row
from blueprint.plan import pools
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.replicas import Replicas
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Override, Settings
from contract import COMPUTE_POOL, MONITORING_POOL


@dataclass(frozen=True)
class ServicePlan:
    """A service of the architecture, or a companion, in this stack: its number of instances and its pools."""

    name: str
    row: str
    instances: int
    dedicated_nodes: int
    shareable: bool
    load_balancer: bool
    pools: tuple[str, ...]
    """Pools that the service may run on, its home pool first."""
    everywhere: bool
    quorum: bool
    apart_from: tuple[str, ...]
    replaced_by: str | None
    override: Override
    source: str
    companion_of: str | None = None
    """For a companion, the service that it accompanies, whose row is `row`; None for a service with its own row."""
    every_node: bool = False
    """Whether the companion is an agent of every node of the stack. `everywhere` is about the nodes of the pools."""
    only_nodes: tuple[str, ...] | None = None
    """Names of the only nodes of its pools that the service runs on; None for all of them."""
    definition: str | None = None
    """For an additional cluster that the stack file names: the service, such as rabbitmq, or for its companions theirs;
    None for other services."""

    @property
    def process(self) -> str:
        """Name of the process that an instance runs: the service, or for an additional cluster its `definition`."""
        return self.definition or self.name

    @property
    def pool(self) -> str:
        """The home pool: the pool that is dedicated to the service, or the first pool that it may run on."""
        return self.pools[0]

    def may_use(self, node: Node) -> bool:
        """Whether an instance may run on a node."""
        return node.pool in self.pools and (self.only_nodes is None or node.name in self.only_nodes)

    def parts(self, nodes: Sequence[Node]) -> tuple[tuple[str, ServicePlan], ...]:
        """Returns the service's workloads with their names: two if it runs on every compute node and on other nodes."""
        others = tuple(pool for pool in self.pools if pool != COMPUTE_POOL)
        whole = self.every_node or not self.everywhere or self.only_nodes is not None
        if whole or len(others) in (0, len(self.pools)):
            return ((self.name, self),)
        split = ((self.name, (COMPUTE_POOL,)), (f"{self.name}-network", others))
        return tuple(
            (name, replace(self, pools=pools, instances=sum(node.pool in pools for node in nodes)))
            for name, pools in split
        )


@dataclass(frozen=True)
class Layout:
    """The nodes of a stack with their pools, the services with the pools that they may use, and problems."""

    nodes: tuple[Node, ...]
    services: tuple[ServicePlan, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()
    companions: Mapping[str, ServicePlan | None] = field(default_factory=dict[str, "ServicePlan | None"])
    """Plans of companions that a topology can place; None for a companion that the topology does not place.

    A companion that is not in this mapping runs in the pools of the service that it accompanies.
    """


def not_retired(services: Iterable[ServicePlan]) -> tuple[ServicePlan, ...]:
    """Returns the services that run: those whose row is not retired."""
    return tuple(service for service in services if not service.replaced_by)


def by_architecture(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> Layout:
    """Assigns machines to the rows that have dedicated nodes, and the other rows to the pools that they may run on."""
    needed = {row.service: replicas.dedicated_nodes(row, settings) for row in architecture.owners}
    nodes, problems = pools.assign_pools(inventory, architecture, needed, is_lab=settings.is_lab)
    sizes = Counter(node.pool for node in nodes)
    dedicated = [node for node in nodes if node.dedicated_to]
    services = tuple(_service_plan(row, settings, dedicated, sizes) for row in architecture.rows)
    return Layout(nodes, services, tuple(problems))


def service_plan(
    row: Row, settings: Settings, dedicated: Sequence[Node], usable: tuple[str, ...], count: Replicas
) -> ServicePlan:
    """Returns the plan of a row's service with these pools and replicas. `dedicated`: the nodes with a dedication."""
    return ServicePlan(
        name=row.service,
        row=row.row,
        instances=count.count,
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


def _service_plan(row: Row, settings: Settings, dedicated: Sequence[Node], sizes: Mapping[str, int]) -> ServicePlan:
    """Returns the plan of a row's service. `sizes`: how many nodes each pool has."""
    runs_on = row.runs_on
    if row.monitoring and not row.owner and MONITORING_POOL in sizes:
        runs_on = (MONITORING_POOL,)
    # Pools without nodes are dropped. If none has nodes, the home pool stays, so that a problem can name it.
    usable = tuple(pool for pool in runs_on if pool in sizes) or runs_on[:1]
    nodes = sum(sizes.get(pool, 0) for pool in usable)
    count = replicas.of_row(row, settings, nodes=nodes, laid=row.instances)
    return service_plan(row, settings, dedicated, usable, count)
