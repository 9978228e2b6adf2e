"""Finds an assignment of instances to nodes that satisfies every placement rule, which proves that a plan is feasible.

The scheduler may choose another assignment. The rules: one instance of a service per node, members of a quorum on
different physical hosts, services that must be apart on different nodes, and on each node no more requests than its
allocatable resources.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.nodes import Node
from blueprint.problems import Problem

SYSTEM_CPU, SYSTEM_MEMORY = 500, 1024
"""Millicores and MiB reserved on each node for its operating system, kubelet and calico-node. Not measured."""


class Demand(Protocol):
    """The properties of a planned service (layout.ServicePlan) that determine its assignment to nodes."""

    @property
    def name(self) -> str: ...
    @property
    def row(self) -> str: ...
    @property
    def companion_of(self) -> str | None: ...
    @property
    def instances(self) -> int: ...
    @property
    def pools(self) -> tuple[str, ...]: ...
    @property
    def everywhere(self) -> bool: ...
    @property
    def every_node(self) -> bool: ...
    @property
    def quorum(self) -> bool: ...
    @property
    def apart_from(self) -> tuple[str, ...]: ...
    def may_use(self, node: Node) -> bool: ...


@dataclass(frozen=True)
class Assignment:
    """One instance of a service on one node of one physical host."""

    service: str
    node: str
    server: str


class _Load:
    """The CPU, memory and services that are assigned to each node so far."""

    def __init__(self) -> None:
        self.cpu: Counter[str] = Counter()
        self.memory: Counter[str] = Counter()
        self.services: dict[str, set[str]] = defaultdict(set)

    def add(self, service: str, node: Node, size: Resources) -> None:
        self.cpu[node.name] += size.cpu_m
        self.memory[node.name] += size.memory_mi
        self.services[node.name].add(service)

    def share(self, node: Node) -> float:
        """Returns the fraction of the node's CPU or memory that is assigned, the larger of the two."""
        has = node.allocatable
        return max(self.cpu[node.name] / (has.cpu * 1000), self.memory[node.name] / (has.memory * 1024))


def find(
    services: Sequence[Demand],
    nodes: Sequence[Node],
    sizes: Mapping[str, Resources],
    raised_together: Mapping[str, str] | None = None,
) -> tuple[tuple[Assignment, ...], list[Problem]]:
    """Returns an assignment of instances to nodes, in the order of `services`, and problems if it is incomplete.

    `sizes`: the requests of one instance of each service. `raised_together`: what else the stack file must set for as
    many instances as a service needs, by service.
    """
    load = _Load()
    placed: dict[str, list[Node]] = {}
    problems: list[Problem] = []
    # Services with the least choice come first: those on every node, then those with the fewest spare nodes.
    eligible = {service.name: [node for node in nodes if service.may_use(node)] for service in services}
    apart = {each.name: _apart_from(each, services) for each in services}
    order = sorted(services, key=lambda s: (not s.everywhere, len(eligible[s.name]) - s.instances))
    for service in order:
        chosen = _choose(service, eligible[service.name], load, apart[service.name])
        if len(chosen) < service.instances:
            problems.append(
                _too_few(service, eligible[service.name], chosen, (raised_together or {}).get(service.name, ""))
            )
        for node in chosen:
            load.add(service.name, node, sizes[service.name])
        placed[service.name] = chosen
    problems += [problem for node in nodes for problem in _overload(node, load)]
    assignment = (
        Assignment(service.name, node.name, node.server) for service in services for node in placed[service.name]
    )
    return tuple(assignment), problems


def _apart_from(service: Demand, services: Sequence[Demand]) -> set[str]:
    """Returns the services that must not share a node with `service`: those it names, and those that name it."""
    return {*service.apart_from, *(other.name for other in services if service.name in other.apart_from)}


def _choose(service: Demand, eligible: Sequence[Node], load: _Load, apart_from: set[str]) -> list[Node]:
    if service.everywhere:
        return list(eligible)
    chosen: list[Node] = []
    left = [node for node in eligible if not load.services[node.name] & apart_from]
    while left and len(chosen) < service.instances:
        on_server = Counter(node.server for node in chosen)
        in_rack = Counter(node.rack for node in chosen)
        best = min(left, key=lambda node: (on_server[node.server], in_rack[node.rack], load.share(node)))
        if service.quorum and on_server[best.server]:
            break
        chosen.append(best)
        left.remove(best)
    return chosen


def _too_few(service: Demand, eligible: Sequence[Node], chosen: Sequence[Node], together: str) -> Problem:
    """`together`: what else the stack file must set for so many instances; "" for nothing."""
    pools = ", ".join(service.pools)
    who = service.name if service.companion_of else service.row
    hosts = len({node.server for node in eligible})
    missing = service.instances - len(chosen)
    if service.quorum and hosts < service.instances:
        there = f"have {len(eligible)} nodes on {hosts} physical hosts, and members of a quorum share none"
        advice = f"add {missing} to these pools, each on a physical host of its own"
    else:
        there = f"have {len(eligible)} nodes that may run it, one instance on each"
        also = f", with {together}," if together else ""
        advice = f"add {missing} to these pools{also} or write {len(chosen)} or less"
    return Problem(
        f"quorate:services.{service.name}.replicas",
        f"{who} needs {service.instances} instances; pools {pools} {there}; {advice}",
    )


def _overload(node: Node, load: _Load) -> list[Problem]:
    cpu, memory = load.cpu[node.name] + SYSTEM_CPU, load.memory[node.name] + SYSTEM_MEMORY
    has = node.allocatable
    if not load.services[node.name] or (cpu <= has.cpu * 1000 and memory <= has.memory * 1024):
        return []
    return [
        Problem(
            f"quorate:servers ({node.name})",
            f"its services request {cpu / 1000:g} cores and {memory / 1024:.1f} GiB with the system's share "
            f"({', '.join(sorted(load.services[node.name]))}), it has {has.cpu} cores and {has.memory} GiB for pods; "
            "give it more, or add nodes to its pool",
        )
    ]
