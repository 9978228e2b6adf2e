"""Requests and limits of one instance of each service, by profile, from the records of the projects.

Source document 004 gives sizes only for monitoring; the other sizes are Quorate's own estimates and not measured. The
planner checks with them that instances fit their nodes, and workloads have them as requests and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import ceil

from blueprint.architecture.model import Architecture
from blueprint.openstack.projects.process_definition import Profile, Resources
from blueprint.openstack.projects.records import Records
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.source import Source
from blueprint.stackfile.resources import PodSize
from blueprint.stackfile.settings import Override

ROUTER_COPIES = 3
"""L3 agents that carry a router, if there are as many: one is active, the others wait to take over."""
SOURCE = Source(
    seed="project",
    section="docs/architectures.md",
    says="unmeasured; sized so that source 004's servers carry production, and VMs of 8 vCPU and 16 GiB the lab",
)
"""The source of sizes without a source of their own."""


@cache
def load_sizing(records: Records) -> Mapping[str, Mapping[Profile, Resources]]:
    """Returns requests and limits of one instance, by service and profile, for the processes of all projects."""
    return {
        name: {"production": _sourced(process.sizes.production), "lab": _sourced(process.sizes.lab)}
        for name, process in records.processes.items()
    }


def sizes_on(
    sizes: Mapping[str, Resources], pools: Mapping[str, Sequence[str]], nodes: Sequence[Node]
) -> dict[str, Resources]:
    """Returns the requests and limits of one pod of each service on these nodes. `pools`: the pools of each service.

    If a pod runs one daemon for each data disk (004, 5.3.14), the values are multiplied by the number of data disks of
    the node with the most, because all pods of a DaemonSet have the same requests.
    """
    found: dict[str, Resources] = {}
    for service, each in sizes.items():
        there = [node for node in nodes if node.pool in pools.get(service, ())] if each.per_disk else []
        found[service] = _times(each, max(map(data_disks, there), default=1))
    return found


def with_overrides(sizes: Mapping[str, Resources], services: Mapping[str, Override]) -> dict[str, Resources]:
    """Returns the sizes with the requests and limits of the stack file. A limit is never less than its request."""
    return {
        name: _overridden(size, services[name].resources) if name in services else size for name, size in sizes.items()
    }


def _overridden(size: Resources, given: PodSize) -> Resources:
    cpu, memory = given.requests.cpu_m or size.cpu_m, given.requests.memory_mi or size.memory_mi
    limit, limit_cpu = given.limits.memory_mi, given.limits.cpu_m or size.limit_cpu_m
    if limit is not None:
        # A limit of the stack file is exact: routers add nothing, and a request that it did not give is no larger.
        memory = min(memory, limit)
    if limit_cpu is not None and given.requests.cpu_m is None:
        cpu = min(cpu, limit_cpu)
    return replace(
        size,
        cpu_m=cpu,
        memory_mi=memory,
        limit_cpu_m=limit_cpu and max(limit_cpu, cpu),
        limit_memory_mi=limit or max(size.limit_memory_mi, memory),
        router_memory_mi=None if limit else size.router_memory_mi,
    )


def with_routers(sizes: Mapping[str, Resources], instances: Mapping[str, int], routers: int) -> dict[str, Resources]:
    """Returns the sizes with limits of memory for the routers that an instance carries.

    Each router is on up to ROUTER_COPIES instances (max_l3_agents_per_router), those with the fewest routers. A single
    instance has no copies, and no process for each router. `routers`: those of all projects.
    """
    found = dict(sizes)
    for service, size in sizes.items():
        if size.router_memory_mi and (count := instances.get(service, 0)) > 1:
            carried = ceil(routers * min(ROUTER_COPIES, count) / count)
            found[service] = replace(size, limit_memory_mi=size.limit_memory_mi + carried * size.router_memory_mi)
    return found


def data_disks(node: Node) -> int:
    """Returns the number of a node's data disks: its hard disks, or all of its disks if none is a hard disk.

    Source document 004 (5.3.3) counts the same way: its 45 storage servers, each with 2 SSDs and 10 hard disks of 2 TB,
    have 900 TB. A node whose disks are not listed, such as a virtual machine, has one data disk.
    """
    hard = sum(disk.count for disk in node.machine.disks if disk.type == "hdd")
    return hard or sum(disk.count for disk in node.machine.disks) or 1


def light_problems(architecture: Architecture, sizes: Mapping[str, Resources]) -> Iterator[Problem]:
    """Yields a problem for each row with a light footprint whose instances request more than a light service may."""
    light = architecture.light
    for row in architecture.rows:
        size = sizes.get(row.service)
        if row.footprint == "light" and size and (size.cpu_m > light.cpu_m or size.memory_mi > light.memory_mi):
            yield Problem(
                f"quorate:architecture ({architecture.name}, row '{row.row}')",
                f"its footprint is light, at most {light.cpu_m / 1000:g} cores and {light.memory_mi / 1024:g} GiB, and "
                f"one instance requests {size.cpu_m / 1000:g} cores and {size.memory_mi / 1024:g} GiB; write "
                "footprint: heavy",
            )


def _times(size: Resources, daemons: int) -> Resources:
    return replace(
        size,
        cpu_m=size.cpu_m * daemons,
        memory_mi=size.memory_mi * daemons,
        limit_cpu_m=size.limit_cpu_m and size.limit_cpu_m * daemons,
        limit_memory_mi=size.limit_memory_mi * daemons,
    )


def _sourced(resources: Resources) -> Resources:
    return resources if resources.source else replace(resources, source=SOURCE)
