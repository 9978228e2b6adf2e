"""Computes the plan of a stack from its settings, or the problems that prevent a plan.

The plan contains the pool of each machine and the nodes on which each service may run. The Pulumi components build it
without further decisions on placement. The same settings give the same plan. Adding a compute node does not move a
service of the control plane.
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.architecture.loader import ArchitectureError, for_computes, load_architecture
from blueprint.architecture.model import Architecture
from blueprint.architecture.ovn_rows import with_ovn
from blueprint.plan import (
    any_order,
    assignment,
    availability_zones,
    beside,
    class_addresses,
    distributed_routers,
    needed_services,
    plan_warnings,
    quorum_limits,
    refusals,
    single_nodes,
)
from blueprint.plan.assignment import Assignment
from blueprint.plan.companions import companions
from blueprint.plan.layout import Layout, by_architecture, not_retired
from blueprint.plan.nodes import etcd_machine
from blueprint.plan.plan import Plan
from blueprint.plan.sizing import light_problems, load_sizing, sizes_on, with_overrides, with_routers
from blueprint.plan.small_layout import is_small, small_layout
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import checks, cloud_content
from blueprint.stackfile.ceph_settings import CEPH_SERVICES
from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.settings import Settings
from contract import ETCD_ROLE


def plan(settings: Settings) -> Plan:
    """Computes the plan of a stack. Raises InvalidStackError, with every problem found, if the stack is invalid."""
    inventory = machines(settings)
    settings = _with_topology(settings, inventory)
    problems = checks.problems(settings)
    try:
        architecture = _architecture(settings, inventory)
    except InvalidStackError as error:
        raise InvalidStackError([*problems, *error.problems]) from None
    sizes = {service: by_profile[settings.profile] for service, by_profile in load_sizing(settings.records).items()}
    unknown = refusals.unknown_services(settings, architecture, sizes)
    problems += [*unknown, *refusals.service_problems(settings, architecture), *light_problems(architecture, sizes)]
    wrong_sizes = quorum_limits.problems(settings, architecture, inventory)
    problems += wrong_sizes
    laid = _laid_out(settings, inventory, architecture)
    problems += laid.problems
    beside_rows = companions(laid, settings)
    running = (*not_retired(laid.services), *beside_rows)
    if not laid.problems:
        problems += single_nodes.problems(settings, running, laid.nodes)
        problems += class_addresses.problems(settings, running, laid.nodes)
        problems += distributed_routers.problems(settings, running, laid.nodes)
        problems += availability_zones.problems(settings.bootstrap, running, laid.nodes)
    problems += cloud_content.missing(settings.bootstrap, {each.name for each in running if each.instances})
    problems += refusals.clusters_without_row(settings, running)
    problems += refusals.processes_without_row(settings, architecture)
    if not laid.problems and not unknown:
        names = {each.process for each in running}
        problems += needed_services.problems(_services_key(settings, architecture), names, settings.records)
    sizes |= {process.name: sizes[process.process] for process in running if process.definition}
    sizes = with_overrides(sizes, settings.services)
    routers = settings.networks.routers or architecture.computes
    sizes = with_routers(sizes, {each.name: each.instances for each in running}, routers)
    sizes = sizes_on(sizes, {process.name: process.pools for process in running}, laid.nodes)
    # A quorum of an invalid size makes its pool too large or small, so `beside` is checked only if sizes are valid.
    apart = [] if wrong_sizes else _apart_from_neighbours(settings, architecture, laid)
    if not settings.is_lab:
        problems += apart
    assignments: tuple[Assignment, ...] = ()
    if not laid.problems and not unknown:
        no_table: dict[str, str] = {}
        together = no_table if settings.topology else beside.raised_together(architecture, laid.services, laid.nodes)
        assignments, unplaced = assignment.find(running, laid.nodes, sizes, together)
        problems += unplaced or any_order.problems(running, laid.nodes, sizes)
    if problems:
        raise InvalidStackError(problems)
    hosts = tuple(machine for machine in inventory if "virt" in machine.roles)
    etcd = tuple(etcd_machine(machine) for machine in inventory if ETCD_ROLE in machine.roles)
    warnings = (
        *laid.warnings,
        *map(str, apart),
        *quorum_limits.warnings(settings, inventory),
        *plan_warnings.warnings(settings, architecture, laid.nodes),
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


def _with_topology(settings: Settings, inventory: Sequence[Machine]) -> Settings:
    """Returns the settings with those that the stack's topology adds."""
    if settings.topology is None:
        return settings
    # As in _laid_out.
    from blueprint import topology_settings  # noqa: PLC0415
    from blueprint.plan import topology_layout  # noqa: PLC0415

    return topology_settings.with_topology(settings, topology_layout.node_names(inventory))


def _architecture(settings: Settings, inventory: tuple[Machine, ...]) -> Architecture:
    computes = sum("compute" in machine.roles for machine in inventory)
    try:
        architecture = load_architecture(settings.architecture or for_computes(computes))
        architecture = architecture.without(CEPH_SERVICES) if settings.external_ceph else architecture
        return with_ovn(architecture) if settings.has_ovn else architecture
    except ArchitectureError as error:
        raise InvalidStackError([Problem("quorate:architecture", str(problem)) for problem in error.problems]) from None
