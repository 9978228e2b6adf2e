"""Lays out pools and services of a small lab: too few controllers for dedicated nodes, or machines with several roles.

Sources 000 and 001 require a cloud on two servers, and 004, 5.5.3 requires one machine with all roles. In a small lab
no node is dedicated. Machines with the same roles form a pool, named after these roles. A service runs on the pools
that have one of its roles, with one instance per node up to its row's count. Members of a quorum run on distinct
physical hosts, and their number is odd. Warnings report the effect of losing a node or host, and the machines to add.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from blueprint import replicas
from blueprint.architecture.model import Architecture, Row
from blueprint.plan.layout import Layout, ServicePlan, service_plan
from blueprint.plan.nodes import Node, node
from blueprint.problems import Problem
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.server_checks import is_mixed
from blueprint.stackfile.settings import Settings
from contract import COMPUTE_POOL, CONTROLLER_POOL, MASTER_POOL, MONITORING_POOL, STORAGE_POOL

ORDER = (MASTER_POOL, CONTROLLER_POOL, COMPUTE_POOL, STORAGE_POOL, MONITORING_POOL)
"""Roles in the order in which they form a pool's name. The role virt is omitted, because it does not make a node."""


def is_small(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> bool:
    """Whether a stack is a lab that is laid out without dedicated nodes.

    It has fewer controllers than the architecture dedicates, or a machine with several roles.
    """
    if not settings.is_lab:
        return False
    few = _for_services(inventory, architecture) < architecture.dedicated_total
    return few or any(is_mixed(machine.roles) for machine in inventory)


def small_layout(settings: Settings, inventory: Sequence[Machine], architecture: Architecture) -> Layout:
    """Assigns every machine to the pool of its roles, and every service to the pools that have one of its roles."""
    by_name = {machine.name: machine for machine in inventory}
    nodes = tuple(
        node(machine, pool, guests=tuple(by_name[name] for name in machine.vms))
        for machine in inventory
        if (pool := pool_of(machine))
    )
    services = tuple(_service(row, settings, nodes) for row in architecture.rows)
    kept = tuple(_apart_where_possible(service, services, nodes) for service in services)
    warnings = (
        *_size_warnings(inventory, architecture),
        *_loss_warnings(architecture, kept, nodes),
        *_sharing_warnings(services, kept, nodes),
    )
    return Layout(nodes, kept, tuple(_problems(inventory)), warnings)


def pool_of(machine: Machine) -> str:
    """Returns the pool of a machine, its roles joined, such as `controller-compute`; "" if it only runs VMs."""
    return "-".join(role for role in ORDER if role in machine.roles)


def _service(row: Row, settings: Settings, nodes: Sequence[Node]) -> ServicePlan:
    roles = {pool if pool in ORDER else CONTROLLER_POOL for pool in row.runs_on}
    if row.monitoring and any(MONITORING_POOL in each.roles for each in nodes):
        roles = {MONITORING_POOL}
    there = [each for each in nodes if roles & set(each.roles)]
    usable = tuple(dict.fromkeys(each.pool for each in there)) or row.runs_on[:1]
    count = replicas.of_row(row, settings, nodes=len(there), laid=_most(row, there))
    return service_plan(row, settings, nodes, usable, count)


def _most(row: Row, there: Sequence[Node]) -> int:
    """Returns how many instances of a row the nodes `there` can run, at most the row's count.

    For a quorum, the result is an odd number, with one instance per physical host.
    """
    wanted = row.instances or 0
    if not row.quorum:
        return min(wanted, len(there))
    hosts = min(wanted, len({each.server for each in there}))
    return hosts - 1 if hosts and hosts % 2 == 0 else hosts


def _apart_where_possible(service: ServicePlan, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> ServicePlan:
    """Returns the service without those services in `apart_from` for which the stack has too few nodes."""
    by_name = {each.name: each for each in services}

    def possible(name: str) -> bool:
        other = by_name[name]
        pools = {*service.pools, *other.pools}
        return service.instances + other.instances <= sum(each.pool in pools for each in nodes)

    return replace(service, apart_from=tuple(name for name in service.apart_from if possible(name)))


def _problems(inventory: Sequence[Machine]) -> Iterator[Problem]:
    if not any(CONTROLLER_POOL in machine.roles for machine in inventory):
        yield Problem(
            "quorate:servers",
            "no machine has the role controller, which OpenStack's own services run on; give it to one, in a lab "
            "beside other roles if need be",
        )
    for machine in inventory:
        if machine.pin:
            yield Problem(
                f"quorate:servers ({machine.name}).pool",
                "a stack without dedicated nodes has no pools to choose from; remove pool, or add controllers",
            )


def _size_warnings(inventory: Sequence[Machine], architecture: Architecture) -> Iterator[str]:
    there, wanted = _for_services(inventory, architecture), architecture.dedicated_total
    if there < wanted:
        yield (
            f"small stack: architecture {architecture.name} dedicates {wanted} nodes, the stack has "
            f"{_count(there, 'controller')}, which all services share; add {_count(wanted - there, 'controller')} to "
            f"have dedicated nodes ({architecture.source})"
        )
    if mixed := [machine for machine in inventory if is_mixed(machine.roles)]:
        names = ", ".join(f"{machine.name} ({', '.join(machine.roles)})" for machine in mixed)
        yield (
            f"several roles on a machine: {names}; its loss, or its load, concerns all of them at once; give each role "
            "machines of its own before production, which refuses this (004, 5.3.16)"
        )


def _loss_warnings(architecture: Architecture, services: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[str]:
    """Yields warnings about the effect of losing a host or node, for services with fewer instances than their row."""
    hosts = {each.server for each in nodes}
    if len(hosts) == 1:
        yield (
            f"one physical host, {next(iter(hosts))}: its loss stops the cloud and takes all data; add two more, so "
            "that quorums survive the loss of one"
        )
    single: list[str] = []
    fewer: dict[int, list[str]] = defaultdict(list)
    for service in services:
        wanted = architecture.row(service.name).instances or 0
        if service.replaced_by or not 0 < service.instances < wanted:
            continue
        if service.quorum and service.instances == 1:
            single.append(service.name)
        else:
            fewer[service.instances].append(service.name)
    if single:
        spread = {each.server for each in nodes if CONTROLLER_POOL in each.roles}
        yield (
            f"{', '.join(single)} have one member each, no quorum: the loss of its host stops the service, and its "
            f"data is lost with the disk; add controllers on {_count(max(3 - len(spread), 1), 'more physical host')}"
        )
    for count, names in sorted(fewer.items()):
        left = "none" if count == 1 else f"{count - 1} of {count}"
        yield (
            f"{_count(len(names), 'service')} of {_count(count, 'instance')}, fewer than the architecture wants "
            f"({', '.join(names)}): the loss of a node leaves {left}; add controllers on physical hosts of their own"
        )


def _sharing_warnings(
    wanted: Sequence[ServicePlan], kept: Sequence[ServicePlan], nodes: Sequence[Node]
) -> Iterator[str]:
    told: set[frozenset[str]] = set()
    for before, after in zip(wanted, kept, strict=True):
        for name in before.apart_from:
            pair = frozenset((before.name, name))
            if name not in after.apart_from and pair not in told:
                told.add(pair)
                there = sum(each.pool in before.pools for each in nodes)
                yield (
                    f"{before.name} and {name} share nodes: {_count(there, 'node')} cannot keep them apart; add "
                    f"controllers, {_needed(wanted, before.name, name)} in all"
                )


def _needed(services: Sequence[ServicePlan], *names: str) -> int:
    by_name: Mapping[str, ServicePlan] = {each.name: each for each in services}
    return sum(by_name[name].instances for name in names)


def _for_services(inventory: Sequence[Machine], architecture: Architecture) -> int:
    """Returns how many machines could be dedicated: all controllers, and monitoring nodes that monitoring rows need."""
    monitoring = sum(MONITORING_POOL in machine.roles for machine in inventory)
    most = sum(row.dedicated_nodes for row in architecture.owners if row.monitoring)
    return sum(CONTROLLER_POOL in machine.roles for machine in inventory) + min(monitoring, most)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
