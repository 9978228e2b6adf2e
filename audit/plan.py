"""Reads plan.json: one feasible placement, and each service with its row of the reference architecture.

The rules never read the plan. The page takes the sources of counts and the cells of the architecture's table from it.
The map takes a position from it only where the resources allow that position.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policy.facts.placement_map import Placed, Placement

VERSION = 2


@dataclass(frozen=True)
class Cells:
    """The four values of a service, from its row in the table of source 004 or from the plan."""

    instances: int | None
    """None if the table has no number."""
    dedicated: int
    """Nodes on which only this service and those its row admits may run."""
    shareable: bool | None
    load_balancer: bool | None

    @property
    def are_empty(self) -> bool:
        """Whether the table has no row for the service."""
        return (self.instances, self.shareable, self.load_balancer) == (None, None, None)


@dataclass(frozen=True)
class PlannedService:
    """A service of the plan."""

    name: str
    row: str
    planned: Cells
    table: Cells
    source: str
    """The sections that the row cites."""
    replaced_by: str | None = None
    """The replacement of a retired service; None for any other service."""

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> PlannedService:
        """Reads a service of plan.json. Raises KeyError or TypeError if it is malformed."""
        table: dict[str, Any] = written["table"]
        return cls(
            written["name"],
            written["row"],
            Cells(written["instances"], written["dedicatedNodes"], written["shareable"], written["loadBalancer"]),
            Cells(table["instances"], table["dedicated"], table["shareable"], table["loadBalancer"]),
            written["source"],
            written["replacedBy"],
        )


@dataclass(frozen=True)
class PlanFile:
    """The parts of a plan that the audit shows; empty if there is no plan."""

    assignment: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Nodes by service."""
    services: dict[str, PlannedService] = field(default_factory=dict[str, PlannedService])
    """By name, in the order of the plan."""

    @classmethod
    def read(cls, path: Path) -> PlanFile:
        """The plan at a path; empty if there is no such file, or if it is malformed or of another version."""
        try:
            document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if document["version"] != VERSION:
                return cls()
            assignment: dict[str, list[str]] = defaultdict(list)
            for each in document["assignment"]:
                assignment[each["service"]].append(each["node"])
            services = [PlannedService.from_json(each) for each in document["services"]]
            return cls(dict(assignment), {each.name: each for each in services})
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def nodes_of(self, placed: Placed, placement: Placement) -> tuple[int, ...] | None:
        """The nodes of the plan's assignment; None if the resources do not allow these nodes."""
        names = {placement.nodes[number].name: number for number in placed.nodes}
        chosen = self.assignment.get(placed.service, [])
        if len(set(chosen)) != placed.count or not set(chosen) <= names.keys():
            return None
        return tuple(sorted(names[name] for name in chosen))
