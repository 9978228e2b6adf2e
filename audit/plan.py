"""Reads plan.json for the audit page: one feasible placement, and each service with its row of the architecture.

The policy rules never read the plan. The page shows the plan's sources of counts and its rows of the architecture's
table. The placement map shows the plan's nodes of a workload only if the resources allow these nodes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policy.facts.placement.placement_map import Placed, PlacementMap

VERSION = 2


@dataclass(frozen=True)
class Cells:
    """Four values of a service, either from its row in the architecture's table or from the plan."""

    instances: int | None
    """Number of instances; None if the table has no number."""
    dedicated: int
    """Number of nodes on which only this service and the services that its row admits may run."""
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
    """The sections of source documents that the service's row cites."""
    replaced_by: str | None = None
    """The service that replaces this retired service; None for a service that is not retired."""

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
    """Names of the nodes that the plan assigns to each service, by service."""
    services: dict[str, PlannedService] = field(default_factory=dict[str, PlannedService])
    """The services of the plan by name, in the order of the plan."""

    @classmethod
    def read(cls, path: Path) -> PlanFile:
        """Reads the plan at a path.

        Returns an empty PlanFile if the file is missing, malformed or of another version.
        """
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

    def nodes_of(self, placed: Placed, placement: PlacementMap) -> tuple[int, ...] | None:
        """Returns the numbers of the nodes that the plan assigns to a workload.

        Returns None if the resources do not allow these nodes, or if the plan has none for the workload.
        """
        names = {placement.nodes[number].name: number for number in placed.nodes}
        chosen = self.assignment.get(placed.service, [])
        if len(set(chosen)) != placed.count or not set(chosen) <= names.keys():
            return None
        return tuple(sorted(names[name] for name in chosen))
