"""Expected state of a stack's cluster: the rows of the reference architecture with their instances and nodes.

A row of the architecture describes the placement of one service. The expected state does not use the plan, so that it
exposes errors of the planner. The source of the numbers and nodes depends on the kind of stack:

- with an architecture, a row sets instances and pools, and the stack file may override the instances;
- in a small lab (fewer controllers than the architecture dedicates, or several roles on a machine), a row may run on
  every machine that has its role, with at most one instance per machine;
- with a Fuel-CCP topology, the topology names the nodes and the number of instances of each service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.architecture.loader import for_computes, load_architecture
from blueprint.architecture.model import Architecture, Row
from blueprint.architecture.ovn_rows import with_ovn
from blueprint.plan.quorum_limits import majority
from blueprint.stackfile import further_clusters
from blueprint.stackfile.ceph_settings import CEPH_SERVICES
from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.server_checks import is_mixed
from blueprint.stackfile.settings import Override, Settings
from blueprint.topology import ByRow, agent_hosts, by_row, place, read_topology
from blueprint.topology_databases import of_topology, with_databases
from contract import COMPUTE_POOL, CONTROLLER_POOL, ETCD_ROLE, MASTER_POOL, MONITORING_POOL, STORAGE_POOL
from proof.cluster import RunningNode


@dataclass(frozen=True)
class ExpectedRow:
    """A row of the reference architecture (the placement of a service), with its instances and nodes in the stack."""

    row: Row
    instances: int | None
    """Number of instances; None for a row that runs on every node of its pools."""
    pools: tuple[str, ...]
    dedicated_nodes: int
    """Number of nodes dedicated to the row; 0 in a small lab and with a topology."""
    nodes: frozenset[str] | None = None
    """Names of the nodes on which the row may run; None for all nodes of its pools."""
    apart_from: tuple[str, ...] = ()
    """Names of services with which the row must not share a node."""
    cluster: str | None = None
    """Name of a further RabbitMQ or Galera that the stack file defines; None for the row's own instances."""

    @property
    def name(self) -> str:
        """Name of the row in the reference architecture, or of the further cluster."""
        return self.cluster or self.row.row

    @property
    def service(self) -> str:
        """Name of the row's service in the stack file."""
        return self.cluster or self.row.service

    @property
    def quorum(self) -> bool:
        """Whether the row's instances are members of a quorum."""
        return self.row.quorum and not self.row.everywhere

    @property
    def failures_tolerated(self) -> int:
        """Number of members that may fail at once; 0 for a quorum of one or two, and for a row that is not a quorum."""
        return failures_tolerated(self.instances or 0) if self.quorum else 0

    def may_use(self, node: RunningNode) -> bool:
        """Whether the row's pods may run on a node."""
        return node.pool in self.pools if self.nodes is None else node.name in self.nodes


@dataclass(frozen=True)
class ExpectedState:
    """The expected state of a stack's cluster: its rows, and its nodes with their physical hosts."""

    architecture: Architecture
    rows: tuple[ExpectedRow, ...]
    servers: Mapping[str, str]
    """Physical host of each node, by node name."""
    etcd: Mapping[str, str]
    """Physical host of each member of etcd, by its machine: a machine of role etcd or, without any, a master."""

    def of(self, row: str | None) -> ExpectedRow | None:
        """Returns the expected row with a name, or None if there is no such row."""
        return next((each for each in self.rows if each.name == row), None)

    @property
    def dedicated_total(self) -> int:
        """Total number of dedicated nodes of all rows."""
        return sum(each.dedicated_nodes for each in self.rows)


def failures_tolerated(members: int) -> int:
    """Returns how many of a quorum's `members` may fail at once so that a majority is left."""
    return members - majority(members) if members else 0


def expected_state(settings: Settings) -> ExpectedState:
    """Returns the expected state of the cluster of a stack, from the settings in its stack file."""
    inventory = [machine for machine in machines(settings) if tuple(machine.roles) != ("virt",)]
    members = [machine for machine in inventory if ETCD_ROLE in machine.roles]
    inventory = [machine for machine in inventory if machine not in members]
    members = members or [machine for machine in inventory if MASTER_POOL in machine.roles]
    computes = sum(COMPUTE_POOL in machine.roles for machine in inventory)
    architecture = load_architecture(settings.architecture or for_computes(computes))
    if settings.external_ceph:
        architecture = architecture.without(CEPH_SERVICES)
    if settings.has_ovn:
        architecture = with_ovn(architecture)
    rows = [row for row in architecture.rows if row.replaced_by is None]
    elsewhere: Mapping[str, frozenset[str]] = {}
    if settings.topology:
        names = [machine.name for machine in inventory if MASTER_POOL not in machine.roles]
        settings = with_databases(settings, names)
        placed, elsewhere, watched = _placed(settings, names)
        expected = tuple(_of_topology(rows, settings, placed))
        used = {name for each in expected for name in each.nodes or ()}.union(watched, *elsewhere.values())
        inventory = [each for each in inventory if MASTER_POOL in each.roles or each.name in used]
    elif _is_small_lab(settings, architecture, inventory):
        expected = tuple(_of_small_lab(rows, settings, inventory))
    else:
        expected = tuple(_of_architecture(rows, settings, inventory))
    expected += tuple(_clusters(expected, settings, elsewhere))
    return ExpectedState(architecture, expected, _servers(inventory), _servers(members))


def _servers(inventory: Iterable[Machine]) -> dict[str, str]:
    return {machine.name: machine.server for machine in inventory}


def _clusters(
    rows: Iterable[ExpectedRow], settings: Settings, elsewhere: Mapping[str, frozenset[str]]
) -> Iterable[ExpectedRow]:
    """Yields the further clusters of the stack file as rows: each is a separate quorum on the row's nodes.

    If the row has dedicated nodes that it does not share, each cluster must not share a node with earlier clusters.
    `elsewhere`: the nodes of clusters that a topology places.
    """
    for row in rows:
        if kind := further_clusters.KINDS.get(row.row.service):
            before = [row.service]
            alone = bool(row.dedicated_nodes) and not row.row.shareable
            for name, override in further_clusters.named(settings, kind).items():
                apart = tuple(before) if alone else ()
                count = override.replicas or row.instances
                nodes = elsewhere.get(name, row.nodes)
                yield replace(row, cluster=name, instances=count, dedicated_nodes=0, nodes=nodes, apart_from=apart)
                before.append(name)


def _replicas(settings: Settings, row: Row) -> int | None:
    return settings.services.get(row.service, Override()).replicas


def _of_architecture(rows: Iterable[Row], settings: Settings, inventory: Iterable[Machine]) -> Iterable[ExpectedRow]:
    has_monitoring = any(MONITORING_POOL in machine.roles for machine in inventory)
    for row in rows:
        instances = None if row.everywhere else (_replicas(settings, row) or row.instances or 0)
        # If the row has dedicated nodes, further replicas of the stack file need further dedicated nodes.
        dedicated = max(row.dedicated_nodes, instances or 0) if row.owner else 0
        kind = further_clusters.KINDS.get(row.service)
        if dedicated and kind and not row.shareable:
            dedicated += sum(
                each.replicas or instances or 0 for each in further_clusters.named(settings, kind).values()
            )
        pools = (MONITORING_POOL,) if row.monitoring and not row.owner and has_monitoring else row.runs_on
        yield ExpectedRow(row, instances, pools, dedicated, apart_from=row.apart_from)


def _is_small_lab(settings: Settings, architecture: Architecture, inventory: Iterable[Machine]) -> bool:
    """Whether the stack is a lab with fewer machines than dedicated nodes, or with several roles on a machine."""
    if not settings.is_lab:
        return False
    roles = [role for machine in inventory for role in machine.roles]
    for_monitoring = sum(row.dedicated_nodes for row in architecture.rows if row.monitoring)
    usable = roles.count(CONTROLLER_POOL) + min(roles.count(MONITORING_POOL), for_monitoring)
    return usable < architecture.dedicated_total or any(is_mixed(machine.roles) for machine in inventory)


def _of_small_lab(rows: Iterable[Row], settings: Settings, inventory: Iterable[Machine]) -> Iterable[ExpectedRow]:
    """Yields every row with the machines that have the row's role. Services share nodes if there are too few nodes."""
    expected: dict[str, ExpectedRow] = {}
    for row in rows:
        eligible = _machines_of(row, list(inventory))
        count = None if row.everywhere else (_replicas(settings, row) or _most(row, eligible))
        expected[row.service] = ExpectedRow(row, count, (), 0, frozenset(machine.name for machine in eligible))
    for each in expected.values():
        others = (expected[name] for name in each.row.apart_from if name in expected)
        yield replace(each, apart_from=tuple(other.row.service for other in others if _can_be_apart(each, other)))


def _machines_of(row: Row, inventory: list[Machine]) -> list[Machine]:
    own = {MASTER_POOL, COMPUTE_POOL, STORAGE_POOL, MONITORING_POOL}
    roles = {pool if pool in own else CONTROLLER_POOL for pool in row.runs_on}
    if row.monitoring and any(MONITORING_POOL in machine.roles for machine in inventory):
        roles = {MONITORING_POOL}
    return [machine for machine in inventory if roles & set(machine.roles)]


def _most(row: Row, eligible: Iterable[Machine]) -> int:
    """Returns the row's number of instances in a small lab: at most the number of nodes.

    A quorum has an odd number of instances, at most the number of physical hosts.
    """
    wanted = row.instances or 0
    if not row.quorum:
        return min(wanted, len(list(eligible)))
    hosts = min(wanted, len({machine.server for machine in eligible}))
    return hosts - 1 if hosts and hosts % 2 == 0 else hosts


def _can_be_apart(one: ExpectedRow, other: ExpectedRow) -> bool:
    nodes = (one.nodes or frozenset()) | (other.nodes or frozenset())
    return (one.instances or 0) + (other.instances or 0) <= len(nodes)


def _placed(settings: Settings, names: list[str]) -> tuple[ByRow, Mapping[str, frozenset[str]], frozenset[str]]:
    """Returns the services of a Fuel-CCP topology by row, the nodes of Galera clusters of single projects, and those
    of agents."""
    topology = read_topology(Path(settings.topology or ""), settings.records)
    placement = place(topology, names)
    own = of_topology(topology, placement)
    clusters = {name: frozenset(placed.hosts) for name, placed in own.placed(placement).items()}
    return (
        by_row(own.others(placement)),
        clusters,
        frozenset(host for hosts in agent_hosts(placement).values() for host in hosts),
    )


def _of_topology(rows: Iterable[Row], settings: Settings, placed: ByRow) -> Iterable[ExpectedRow]:
    """Yields the rows whose services a Fuel-CCP topology places. No row has dedicated nodes or separate services."""
    for row in rows:
        if services := placed.get(row.service):
            count = _replicas(settings, row) or max(each.replicas for each in services.values())
            nodes = frozenset(host for each in services.values() for host in each.hosts)
            yield ExpectedRow(row, None if row.everywhere else count, (), 0, nodes)
