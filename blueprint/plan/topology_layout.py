"""Lays out pools and services by a Fuel-CCP topology file, instead of by the servers' roles.

In Fuel-CCP (CCP) any set of nodes could run a service; in Quorate a node is in exactly one pool. Nodes that run the
same services therefore form a pool, and a service may use every pool whose nodes run it. The topology sets the number
of instances (CCP's default: 1). The architecture's rows define the services; the policy pack compares the numbers with
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from blueprint import replicas, topology_databases, topology_settings
from blueprint.architecture.model import Architecture
from blueprint.plan import distributed_routers, topology_services
from blueprint.plan.companions import beside_rows
from blueprint.plan.layout import Layout, ServicePlan, service_plan
from blueprint.plan.nodes import Node, node
from blueprint.plan.topology_services import KEY
from blueprint.problems import Problem
from blueprint.replicas import Reason, Replicas
from blueprint.stackfile.further_clusters import GALERA
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Settings
from blueprint.topology import ByRow, Placement, TopologyError, agent_hosts, by_row, companions_of, place, read_topology
from blueprint.topology.definitions import catalogue
from contract import COMPUTE_POOL, CONTROLLER_POOL, ETCD_ROLE, MASTER_POOL, STORAGE_POOL

ROLE_OF = {"nova-compute": COMPUTE_POOL, "ceph-osd": STORAGE_POOL}
"""The role that a node gets from a service placed on it. Every other service gives the role controller."""


def by_topology(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> Layout:
    """Lays out nodes and services by the topology file, and masters by their role.

    A topology does not place masters, because CCP required an existing Kubernetes cluster.
    """
    names = node_names(inventory)
    try:
        topology = read_topology(Path(settings.topology or ""), settings.records)
    except TopologyError as error:
        # Check the readable part of the topology too, so that one run reports all problems.
        topology = error.topology
    placement = place(topology, names)
    errors = [
        finding
        for finding in placement.findings
        if finding.severity == "error" and not topology_services.is_about_absent(finding, placement)
    ]
    problems = [Problem(f"{KEY} ({finding.key})", finding.message) for finding in errors]
    problems += topology_services.problems(topology, placement, architecture, settings)
    problems += topology_settings.problems(placement.configs)
    problems += _mixed_roles(inventory)
    own = topology_databases.of_topology(topology, placement)
    problems += topology_databases.problems(own)
    others = own.others(placement)
    rows, beside = by_row(others), companions_of(others)
    beside = {**beside, **{name: {name: placed} for name, placed in own.placed(placement).items()}}
    hosts = distributed_routers.without_computes(_hosts({**rows, **beside}), settings)
    hosts |= _of_agents(others, {name for names in hosts.values() for name in names})
    nodes = tuple(_node(machine, inventory, hosts) for machine in inventory if _is_used(machine, hosts))
    services = tuple(_services(settings, architecture, rows, hosts, nodes))
    warnings = [*topology_services.warnings(others), *topology_services.store_warnings(settings, others)]
    warnings += [f"topology: {m.name} runs no service" for m in inventory if _is_node(m) and not _is_used(m, hosts)]
    companions = dict(_companions(settings, architecture, beside, hosts, nodes))
    return Layout(nodes, services, tuple(problems), tuple(warnings), companions)


def node_names(inventory: Sequence[Machine]) -> list[str]:
    """Returns the names of the machines on which a topology may place services."""
    return [machine.name for machine in inventory if _is_node(machine)]


def _is_node(machine: Machine) -> bool:
    """Whether a topology may place services on the machine.

    It may not on masters, on machines of role etcd, and on servers that only run VMs.
    """
    return not {MASTER_POOL, ETCD_ROLE} & set(machine.roles) and tuple(machine.roles) != ("virt",)


def _is_used(machine: Machine, hosts: Mapping[str, Sequence[str]]) -> bool:
    return MASTER_POOL in machine.roles or any(machine.name in names for names in hosts.values())


def _mixed_roles(inventory: Sequence[Machine]) -> list[Problem]:
    return [
        Problem(
            f"quorate:servers ({machine.name}).roles",
            f"a topology gives all roles except master and etcd; remove {role}",
        )
        for machine in inventory
        for role in machine.roles
        if role not in (MASTER_POOL, ETCD_ROLE, "virt")
    ]


def _hosts(rows: ByRow) -> dict[str, tuple[str, ...]]:
    """Maps each row and each companion to the nodes of all topology services that belong to it."""
    return {
        row: tuple(dict.fromkeys(host for each in services.values() for host in each.hosts))
        for row, services in rows.items()
    }


def _of_agents(placement: Placement, used: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Maps agents that run on every node to the nodes on which a topology places nothing else, so that they run there.

    `used`: the nodes of other services.
    """
    agents = agent_hosts(placement)
    return {agent: alone for agent, names in agents.items() if (alone := tuple(n for n in names if n not in used))}


def _node(machine: Machine, inventory: Sequence[Machine], hosts: Mapping[str, Sequence[str]]) -> Node:
    guests = tuple(other for other in inventory if other.name in machine.vms)
    if MASTER_POOL in machine.roles:
        return node(machine, MASTER_POOL, guests=guests)
    services = [service for service, names in hosts.items() if machine.name in names]
    roles = dict.fromkeys((*machine.roles, *(ROLE_OF.get(service, CONTROLLER_POOL) for service in sorted(services))))
    # The L2 agent runs beside other services, so a compute node with the L2 agent is not a controller.
    if COMPUTE_POOL in roles and set(services) <= {"nova-compute", "neutron-l2-agent"}:
        roles.pop(CONTROLLER_POOL, None)
    return node(replace(machine, roles=tuple(roles)), _pool(services), guests=guests)


def _pool(services: Sequence[str]) -> str:
    """Returns the name of the pool for nodes with these services: compute, storage, or a digest of their names."""
    carried = frozenset(services)
    if carried <= {"nova-compute", "neutron-l2-agent"}:
        return COMPUTE_POOL
    if carried == frozenset({"ceph-osd"}):
        return STORAGE_POOL
    digest = hashlib.sha256(" ".join(sorted(carried)).encode()).hexdigest()[:8]
    return f"topology-{digest}"


def _services(
    settings: Settings,
    architecture: Architecture,
    rows: ByRow,
    hosts: Mapping[str, Sequence[str]],
    nodes: Sequence[Node],
) -> Sequence[ServicePlan]:
    counts = {row: max(each.replicas for each in services.values()) for row, services in rows.items()}
    found: list[ServicePlan] = []
    for row in architecture.rows:
        names = hosts.get(row.service, ())
        usable = _pools(names, nodes)
        if not usable:
            continue
        count = replicas.of_row(row, settings, nodes=len(names), laid=counts[row.service])
        found.append(replace(service_plan(row, settings, nodes, usable, count), apart_from=()))
    return found


def _companions(
    settings: Settings,
    architecture: Architecture,
    beside: ByRow,
    hosts: Mapping[str, Sequence[str]],
    nodes: Sequence[Node],
) -> Iterator[tuple[str, ServicePlan | None]]:
    """Yields each companion that a topology can place, with its plan by this topology; None if it does not place it."""
    rows = {row.service: row for row in architecture.rows}
    known, placed_beside = catalogue(settings.records), beside_rows(settings.records)
    placeable = {
        name: placed_beside[name].of
        for name, each in known.services.items()
        if each.companion and name in placed_beside
    }
    # All others are Galera clusters of single projects.
    for name, accompanied in {**dict.fromkeys(beside, GALERA.definition), **placeable}.items():
        usable, row = _pools(hosts.get(name, ()), nodes), rows.get(accompanied)
        if usable and row:
            placed = max(each.replicas for each in beside[name].values())
            there = service_plan(row, settings, nodes, usable, Replicas(placed, Reason.LAYOUT))
            yield name, replace(there, apart_from=())
        else:
            yield name, None


def _pools(names: Sequence[str], nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.pool for node in nodes if node.name in names))
