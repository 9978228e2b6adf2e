"""Computes the plan of a stack from its settings, or the problems that prevent a plan.

The plan contains the pool of each machine and the nodes on which each service may run. The Pulumi components build it
without further decisions on placement. The same settings give the same plan. Adding a compute node does not move a
service of the control plane.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from blueprint.architecture.loader import ArchitectureError, for_computes, load_architecture
from blueprint.architecture.model import Architecture, Row
from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan import any_order, assignment, beside, needed_services, quorum_limits, single_nodes
from blueprint.plan.assignment import Assignment
from blueprint.plan.companions import AGENTS, COMPANIONS, companions
from blueprint.plan.layout import Layout, ServicePlan, by_architecture
from blueprint.plan.nodes import Node, etcd_machine
from blueprint.plan.sizing import light_problems, load_sizing, sizes_on
from blueprint.plan.small_layout import is_small, small_layout
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import checks, cloud_content, further_clusters
from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.server_checks import FEATURE
from blueprint.stackfile.settings import Settings
from contract import COMPUTE_POOL, CONTROLLER_POOL, ETCD_ROLE, MASTER_POOL, STORAGE_POOL
from files import atomic
from text.suggestion import did_you_mean

VERSION = 2
"""Version of plan.json, raised with every change of its format that a reader of the old format would misread."""


@dataclass(frozen=True)
class Plan:
    """The plan of a stack: nodes, services, resource requests and a feasible assignment of instances to nodes."""

    settings: Settings
    architecture: Architecture
    hosts: tuple[Machine, ...]
    """Servers with the role virt, which run virtual machines. They are nodes only if they are compute nodes too."""
    nodes: tuple[Node, ...]
    """The Kubernetes nodes."""
    etcd_machines: tuple[Node, ...]
    """Machines of role etcd, which are not Kubernetes nodes; () if the masters carry etcd's members."""
    services: tuple[ServicePlan, ...]
    """The services of the architecture's rows, including retired rows."""
    companions: tuple[ServicePlan, ...]
    sizes: Mapping[str, Resources]
    """The requests and limits of one pod of each process, by the process's name."""
    assignment: tuple[Assignment, ...]
    warnings: tuple[str, ...]

    @property
    def processes(self) -> tuple[ServicePlan, ...]:
        """The services that run in the stack: those of rows that are not retired, and their companions."""
        return (*_alive(self.services), *self.companions)

    @cached_property
    def masters(self) -> tuple[Node, ...]:
        """The Kubernetes masters."""
        return self.carrying(MASTER_POOL)

    @property
    def members(self) -> tuple[Node, ...]:
        """The machines with a member of etcd: those of role etcd if the stack has any, otherwise the masters."""
        return self.etcd_machines or self.masters

    @property
    def machines(self) -> tuple[Node, ...]:
        """All machines with files and steps: machines of role etcd, and Kubernetes nodes."""
        return (*self.etcd_machines, *self.nodes)

    @cached_property
    def workloads(self) -> tuple[tuple[str, ServicePlan], ...]:
        """The workloads of the stack: pairs of the workload's name and its service.

        A service that runs on compute nodes and on other nodes has two DaemonSets, because the DaemonSet on compute
        nodes updates many nodes at a time and the other one updates one node at a time.
        """
        return tuple(part for process in self.processes for part in process.parts(self.nodes))

    def pool(self, name: str) -> tuple[Node, ...]:
        """Returns the nodes of the pool `name`."""
        return tuple(node for node in self.nodes if node.pool == name)

    def carrying(self, role: str) -> tuple[Node, ...]:
        """Returns the nodes whose machines have the role `role`, in any pool."""
        return tuple(node for node in self.nodes if role in node.roles)

    def to_json(self) -> str:
        """Returns the content of plan.json: keys in a stable order, a newline at the end."""
        document = {
            "version": VERSION,
            "architecture": self.architecture.name,
            "profile": self.settings.profile,
            "release": self.settings.release,
            "target": self.settings.target,
            "warnings": list(self.warnings),
            "nodes": [_node(node) for node in self.nodes],
            **({"etcdMachines": [_node(node) for node in self.etcd_machines]} if self.etcd_machines else {}),
            "services": [_service(service, self.architecture.row(service.name)) for service in self.services],
            "companions": [_companion(companion) for companion in self.companions],
            "assignment": [{"service": a.service, "node": a.node, "server": a.server} for a in self.assignment],
        }
        return json.dumps(document, indent=1) + "\n"

    def write(self, path: Path) -> None:
        """Writes plan.json atomically."""
        atomic.write(path, self.to_json())


def plan(settings: Settings) -> Plan:
    """Computes the plan of a stack. Raises InvalidStackError, with every problem found, if the stack is invalid."""
    inventory = machines(settings)
    settings = _with_databases(settings, inventory)
    problems = checks.problems(settings)
    try:
        architecture = _architecture(settings, inventory)
    except InvalidStackError as error:
        raise InvalidStackError([*problems, *error.problems]) from None
    sizes = {service: by_profile[settings.profile] for service, by_profile in load_sizing().items()}
    unknown = _unknown_services(architecture, sizes)
    problems += [*unknown, *_override_problems(settings, architecture), *light_problems(architecture, sizes)]
    wrong_sizes = quorum_limits.problems(settings, architecture, inventory)
    problems += wrong_sizes
    laid = _laid_out(settings, inventory, architecture)
    problems += laid.problems
    beside_rows = companions(laid, settings)
    running = (*_alive(laid.services), *beside_rows)
    if not laid.problems:
        problems += single_nodes.problems(settings, running, laid.nodes)
    problems += cloud_content.missing(settings.bootstrap, {each.name for each in running if each.instances})
    problems += _without_row(settings, running)
    if not laid.problems and not unknown:
        problems += needed_services.problems(_services_key(settings, architecture), {each.process for each in running})
    sizes |= {process.name: sizes[process.process] for process in running if process.definition}
    sizes = sizes_on(sizes, {process.name: process.pools for process in running}, laid.nodes)
    # A quorum of an invalid size makes its pool too large or small, so `beside` is checked only if sizes are valid.
    apart = [] if wrong_sizes else _apart_from_neighbours(settings, architecture, laid)
    if not settings.is_lab:
        problems += apart
    assignments: tuple[Assignment, ...] = ()
    if not laid.problems and not unknown:
        assignments, unplaced = assignment.find(running, laid.nodes, sizes)
        problems += unplaced or any_order.problems(running, laid.nodes, sizes)
    if problems:
        raise InvalidStackError(problems)
    hosts = tuple(machine for machine in inventory if "virt" in machine.roles)
    etcd = tuple(etcd_machine(machine) for machine in inventory if ETCD_ROLE in machine.roles)
    warnings = (
        *laid.warnings,
        *map(str, apart),
        *quorum_limits.warnings(settings, inventory),
        *_warnings(settings, architecture, laid.nodes),
    )
    return Plan(
        settings, architecture, hosts, laid.nodes, etcd, laid.services, beside_rows, sizes, assignments, warnings
    )


def _services_key(settings: Settings, architecture: Architecture) -> str:
    """Returns the key of the stack file that names the services of the stack."""
    return "quorate:topology" if settings.topology else f"quorate:architecture ({architecture.name})"


def _apart_from_neighbours(settings: Settings, architecture: Architecture, laid: Layout) -> list[Problem]:
    """Returns a problem for each service that may run on a node without a service that must be beside it.

    The caller reports them as errors in production and as warnings in a lab. Returns [] for a stack with a topology,
    because the policy pack evaluates such a stack.
    """
    if settings.topology or laid.problems:
        return []
    return list(beside.problems(architecture, laid.services, laid.nodes))


def _laid_out(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> Layout:
    if settings.topology is None:
        small = is_small(settings, inventory, architecture)
        return (small_layout if small else by_architecture)(settings, inventory, architecture)
    # Imported only here: few stacks have a topology, and this import takes a tenth of the program's import time.
    from blueprint.plan.topology_layout import by_topology  # noqa: PLC0415

    return by_topology(settings, inventory, architecture)


def _with_databases(settings: Settings, inventory: Sequence[Machine]) -> Settings:
    """Returns the settings with the Galera clusters that the stack's topology gives to single projects."""
    if settings.topology is None:
        return settings
    # As in _laid_out.
    from blueprint import topology_databases  # noqa: PLC0415
    from blueprint.plan import topology_layout  # noqa: PLC0415

    return topology_databases.with_databases(settings, topology_layout.node_names(inventory))


def _architecture(settings: Settings, inventory: tuple[Machine, ...]) -> Architecture:
    computes = sum("compute" in machine.roles for machine in inventory)
    try:
        return load_architecture(settings.architecture or for_computes(computes))
    except ArchitectureError as error:
        raise InvalidStackError([Problem("quorate:architecture", str(problem)) for problem in error.problems]) from None


def _unknown_services(architecture: Architecture, sizes: Mapping[str, Resources]) -> list[Problem]:
    """Returns a problem for each row of a user's own architecture whose service Quorate cannot build."""
    known = sorted(sizes.keys() - COMPANIONS.keys())
    return [
        Problem(
            f"quorate:architecture ({architecture.name}, row '{row.row}')",
            f"there is no service '{row.service}'{did_you_mean(row.service, known)}; write one of: {', '.join(known)}",
        )
        for row in architecture.rows
        if not row.replaced_by and row.service not in known
    ]


def _override_problems(settings: Settings, architecture: Architecture) -> list[Problem]:
    rows: Mapping[str, Row] = {row.service: row for row in architecture.rows}
    named = further_clusters.companions(settings)
    found: list[Problem] = []
    for name, override in settings.services.items():
        key = f"quorate:services.{name}"
        if override.definition:
            continue  # further_clusters.problems checks it
        if COMPANIONS.get(named.get(name, name)) in rows:
            if name in AGENTS and override.replicas is not None:
                found.append(Problem(f"{key}.replicas", "it runs once on every node; remove replicas"))
            continue
        if name not in rows:
            found.append(Problem(key, _unknown(name, rows)))
        elif rows[name].replaced_by:
            found.append(Problem(key, f"is retired; write {rows[name].replaced_by}, which replaces it"))
        elif rows[name].everywhere and override.replicas is not None:
            found.append(
                Problem(
                    f"{key}.replicas", "it runs once on every node of its pools; remove replicas and add nodes instead"
                )
            )
    return found


def _without_row(settings: Settings, running: Sequence[ServicePlan]) -> Iterator[Problem]:
    """Yields a problem for each additional cluster in the stack file if the stack has no service of the kind."""
    there = {process.name for process in running}
    for name, kind in further_clusters.all_named(settings).items():
        if name not in there:
            advice = "add it to the architecture or the topology, or remove this"
            yield Problem(f"quorate:services.{name}", f"the stack has no {kind.definition}; {advice}")


def _unknown(name: str, rows: Mapping[str, Row]) -> str:
    """Returns the message for a service that is neither a row of the architecture nor a companion."""
    from blueprint.plan.topology_services import refusal  # noqa: PLC0415 - pydantic's models, where they are needed

    known = sorted({*rows, *(companion for companion, beside in COMPANIONS.items() if beside in rows)})
    return refusal(name) or f"no such service{did_you_mean(name, known)}; write one of: {', '.join(known)}"


def _warnings(settings: Settings, architecture: Architecture, nodes: tuple[Node, ...]) -> tuple[str, ...]:
    found = [*checks.option_warnings(settings)]
    if FEATURE in settings.features and any(node.virtual for node in nodes):
        found.append(
            "reduced footprint: control-plane nodes are virtual machines beside tenants' machines; expect bad "
            "performance and a larger attack surface (source 000, Performance Impact and Security Impact)"
        )
    # Counted by role, because pools of a topology or of a small lab have other names.
    computes = sum(COMPUTE_POOL in node.roles for node in nodes)
    if computes > architecture.computes:
        found.append(
            f"{computes} computes outgrow architecture {architecture.name}, meant for {architecture.computes}; "
            "plan the move to the next size"
        )
    if not computes:
        found.append("no server has the role compute: nothing will run tenants' machines")
    if unlisted := [
        node.name for node in nodes if STORAGE_POOL in node.roles and not node.machine.disks and not node.virtual
    ]:
        found.append(f"disks of {', '.join(unlisted)} are not listed: each counts as one disk with one OSD daemon")
    if not any(STORAGE_POOL in node.roles for node in nodes):
        found.append("no node has the role storage: the Ceph cluster has no OSD and stores nothing")
    spare = [node.name for node in nodes if node.pool == CONTROLLER_POOL]
    if spare and any(node.dedicated_to for node in nodes):
        found.append(f"controllers beyond the dedicated ones, shared by all that may share: {', '.join(spare)}")
    return tuple(found)


def _alive(services: Iterable[ServicePlan]) -> tuple[ServicePlan, ...]:
    return tuple(service for service in services if not service.replaced_by)


def _companion(companion: ServicePlan) -> dict[str, object]:
    return {
        "name": companion.name,
        "companionOf": companion.companion_of,
        "instances": companion.instances,
        "pool": companion.pool,
        "pools": list(companion.pools),
        "source": companion.source,
    }


def _node(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "server": node.server,
        "roles": list(node.roles),
        "pool": node.pool,
        "dedicatedTo": node.dedicated_to,
        "rack": node.rack,
        "address": node.address,
        "virtual": node.virtual,
    }


def _service(service: ServicePlan, row: Row) -> dict[str, object]:
    return {
        "name": service.name,
        "row": service.row,
        "instances": service.instances,
        "dedicatedNodes": service.dedicated_nodes,
        "shareable": service.shareable,
        "loadBalancer": service.load_balancer,
        "pool": service.pool,
        "pools": list(service.pools),
        "source": service.source,
        "replacedBy": service.replaced_by,
        "table": {
            "instances": row.table_instances,
            "dedicated": row.dedicated_nodes,
            "shareable": row.table_shareable,
            "loadBalancer": row.table_load_balancer,
        },
    }
