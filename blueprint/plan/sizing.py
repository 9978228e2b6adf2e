"""What one instance of each service requests of its node, by profile.

Source 004 gives figures only for monitoring; the other figures are the project's and not measured. The planner uses
them to check that instances fit their nodes, and workloads carry them as requests and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from blueprint.architecture.model import Architecture
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.source import Count, Facts, Source
from files import yaml_reader

Profile = Literal["production", "lab"]

FILE = Path(__file__).parent / "sizing.yaml"


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Resources:
    """Requests and limits of one instance: CPU in millicores, memory in MiB."""

    cpu_m: Count
    memory_mi: Count
    limit_cpu_m: Count | None = None
    """None: it may use what the node has left."""
    limit_memory_mi: Count
    per_disk: bool = False
    """Whether the figures are those of one daemon, and a pod runs one for each data disk of its node."""
    source: Source | None = None
    """Where the figures come from; in the file, left out where it is the file's own."""


class Sizing(Facts):
    """The form of sizing.yaml."""

    source: Source
    services: dict[str, dict[Profile, Resources]]


@cache
def load_sizing() -> Mapping[str, Mapping[str, Resources]]:
    """Resources by service and profile, for every service of every reference architecture (a test checks this)."""
    text = FILE.read_text(encoding="utf-8")
    sizing = Sizing.model_validate_json(yaml_reader.to_json(yaml_reader.load(text)))
    return {
        service: {profile: _sourced(resources, sizing.source) for profile, resources in profiles.items()}
        for service, profiles in sizing.services.items()
    }


def sizes_on(
    sizes: Mapping[str, Resources], pools: Mapping[str, Sequence[str]], nodes: Sequence[Node]
) -> dict[str, Resources]:
    """Returns what one pod of each service requests on these nodes. `pools`: where each service may run.

    All pods of a DaemonSet request the same. If a pod runs one daemon per data disk, the node with most data disks
    determines the request (004, 5.3.14).
    """
    found: dict[str, Resources] = {}
    for service, each in sizes.items():
        there = [node for node in nodes if node.pool in pools.get(service, ())] if each.per_disk else []
        found[service] = _times(each, max(map(data_disks, there), default=1))
    return found


def data_disks(node: Node) -> int:
    """Returns how many disks of a node carry data: its hard disks, or all of its disks if it has no hard disk.

    Source 004 counts the same way: its 45 storage servers, each with 2 SSDs and 10 hard disks of 2 TB, have 900 TB
    (5.3.3). A node whose disks are not listed, such as a virtual machine, counts as one disk.
    """
    hard = sum(disk.count for disk in node.machine.disks if disk.type == "hdd")
    return hard or sum(disk.count for disk in node.machine.disks) or 1


def light_problems(architecture: Architecture, sizes: Mapping[str, Resources]) -> Iterator[Problem]:
    """Yields rows with a light footprint whose instances request more than the architecture's limit for light."""
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


def _sourced(resources: Resources, source: Source) -> Resources:
    return resources if resources.source else replace(resources, source=source)
