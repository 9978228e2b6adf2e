"""What the cluster is measured by: the rows of the reference architecture, with the counts that the stack declares.

The plan is not asked. A row says how many instances, on whose nodes, beside whom; the stack file may ask for more. A
stack with a Fuel-CCP topology is measured by that instead: its services, their nodes and their counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from blueprint.architecture.loader import for_computes, load_architecture
from blueprint.architecture.model import Architecture, Row
from blueprint.plan.quorum_limits import majority
from blueprint.stackfile.inventory import machines
from blueprint.stackfile.settings import Override, Settings
from blueprint.topology import ByRow, by_row, place, read_topology
from contract import MASTER_POOL, MONITORING_POOL
from proof.cluster import Node


@dataclass(frozen=True)
class Expected:
    """A row, and what this stack wants of it."""

    row: Row
    instances: int | None
    """None: one on every node of its pools."""
    pools: tuple[str, ...]
    dedicated_nodes: int
    nodes: frozenset[str] | None = None
    """The nodes that a topology gives it; None: those of its pools."""

    @property
    def name(self) -> str:
        return self.row.row

    def may_use(self, node: Node) -> bool:
        """Whether its pods may run on a node."""
        return node.pool in self.pools if self.nodes is None else node.name in self.nodes

    @property
    def apart_from(self) -> tuple[str, ...]:
        """Services that it shares no node with. A topology decides that by its nodes alone."""
        return self.row.apart_from if self.nodes is None else ()

    @property
    def quorum(self) -> bool:
        return self.row.quorum and not self.row.everywhere

    @property
    def majority(self) -> int:
        """Members that must be up; for a row that is no quorum, one."""
        if not self.quorum or self.instances is None:
            return 1
        return majority(self.instances)


@dataclass(frozen=True)
class Norm:
    """Everything a stack must look like once it runs."""

    architecture: Architecture
    rows: tuple[Expected, ...]

    def of(self, row: str | None) -> Expected | None:
        """The row of a pod's annotation."""
        return next((each for each in self.rows if each.name == row), None)

    @property
    def dedicated_total(self) -> int:
        """Nodes that are kept for somebody."""
        return sum(each.dedicated_nodes for each in self.rows)


def norm_of(settings: Settings) -> Norm:
    """The norm of a stack."""
    computes = sum("compute" in machine.roles for machine in machines(settings))
    architecture = load_architecture(settings.architecture or for_computes(computes))
    has_monitoring = any(MONITORING_POOL in machine.roles for machine in machines(settings))
    rows = (row for row in architecture.rows if row.replaced_by is None)
    if settings.topology:
        return Norm(architecture, tuple(_of_topology(rows, settings, _placed(settings, settings.topology))))
    return Norm(architecture, tuple(_expected(rows, settings, has_monitoring=has_monitoring)))


def _expected(rows: Iterable[Row], settings: Settings, *, has_monitoring: bool) -> Iterable[Expected]:
    for row in rows:
        asked = settings.services.get(row.service, Override()).replicas
        instances = None if row.everywhere else (asked or row.instances or 0)
        # Replicas beyond the row's want nodes of their own where the row has its own.
        dedicated = max(row.dedicated_nodes, instances or 0) if row.owner else 0
        pools = (MONITORING_POOL,) if row.monitoring and not row.owner and has_monitoring else row.runs_on
        yield Expected(row, instances, pools, dedicated)


def _placed(settings: Settings, topology: str) -> ByRow:
    """The services of a topology on the stack's nodes: masters have their role, and pure hosts of VMs are no nodes."""
    nodes = [
        each.name for each in machines(settings) if MASTER_POOL not in each.roles and tuple(each.roles) != ("virt",)
    ]
    return by_row(place(read_topology(Path(topology)), nodes))


def _of_topology(rows: Iterable[Row], settings: Settings, placed: ByRow) -> Iterable[Expected]:
    """A row for each that the topology has a service of. It keeps no node for one service."""
    for row in rows:
        if services := placed.get(row.service):
            asked = settings.services.get(row.service, Override()).replicas
            count = asked or max(each.replicas for each in services.values())
            nodes = frozenset(host for each in services.values() for host in each.hosts)
            yield Expected(row, None if row.everywhere else count, (), 0, nodes)
