"""The nodes whose disks have data of a service: of members of quorums, of other services with a volume, and of OSDs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.plan.plan import Plan

_OSD = "ceph-osd"
"""Process that has the disks of its nodes, and no volume."""


@dataclass(frozen=True)
class DataNode:
    """A node with data of services."""

    name: str
    address: str
    services: tuple[str, ...]
    """Names of the services whose data may be there: a pod with a volume may be on another node of its pools."""


def data_nodes(plan: Plan) -> tuple[DataNode, ...]:
    """Returns the nodes of a plan on which services may have data, with the names of these services."""
    return tuple(_data_nodes(plan))


def _data_nodes(plan: Plan) -> Iterator[DataNode]:
    definitions = plan.settings.records.processes
    keepers = [
        entry
        for entry in plan.processes
        if entry.instances and (entry.process == _OSD or definitions[entry.process].claim)
    ]
    for node in plan.nodes:
        names = {entry.name for entry in keepers if node.pool in entry.pools}
        names |= {"etcd"} if node in plan.members else set()
        if names:
            yield DataNode(node.name, node.address, tuple(sorted(names)))
