"""Directories on nodes that contain the data of an environment's processes. Does not import Pulumi."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from openstack.config.wiring import ENVIRONMENT
from openstack.project_definitions import processes

_ROOT = "/var/lib/quorate"
MODE = "0770"


@dataclass(frozen=True)
class DataDirectory:
    """A directory that must exist on a node before a process's local volume can be mounted there."""

    path: str
    uid: int
    """User and group id of the process, which own the directory."""


def root(environment: str) -> str:
    """Returns the path of the directory on nodes that contains the data of an environment, such as openstack."""
    return f"{_ROOT}/{environment}"


def directories(plan: Plan, node: Node) -> Iterator[DataDirectory]:
    """Yields the data directories that must exist on a node, for every process of the plan that may run there."""
    for entry in plan.processes:
        process = replace(processes(plan.settings.records)[entry.process], name=entry.name)
        if node.pool in entry.pools and process.claim:
            yield DataDirectory(f"{root(ENVIRONMENT)}/{process.name}", process.uid)
            if process.backups:
                yield DataDirectory(f"{root(ENVIRONMENT)}/{process.backup_claim_name}", process.uid)
