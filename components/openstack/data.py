"""Directories of nodes that hold the data of an environment's processes. Imports no Pulumi."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.openstack.config.wiring import ENVIRONMENT
from components.openstack.projects import PROCESSES

_ROOT = "/var/lib/quorate"
MODE = "0770"


@dataclass(frozen=True)
class DataDirectory:
    """A directory that must exist on a node before a process's local volume can be mounted there."""

    path: str
    uid: int
    """User and group of the process."""


def root(environment: str) -> str:
    """Returns the directory of nodes that holds an environment's data."""
    return f"{_ROOT}/{environment}"


def directories(plan: Plan, node: Node) -> Iterator[DataDirectory]:
    """Yields the directories that a node needs."""
    for entry in plan.processes:
        process = replace(PROCESSES[entry.process], name=entry.name)
        if node.pool in entry.pools and process.claim:
            yield DataDirectory(f"{root(ENVIRONMENT)}/{process.name}", process.uid)
            if process.backups:
                yield DataDirectory(f"{root(ENVIRONMENT)}/{process.backup_claim_name}", process.uid)
