"""What plan.json adds to the audit: one placement that fits, and the source of each count.

The rules never read the plan. The map takes from it only where an instance is drawn, and only where that agrees with
what the resources allow.
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
class PlanFile:
    """The parts of a plan that the audit shows; empty where there is no plan."""

    assignment: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Nodes by service."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """Where a service's count comes from."""

    @classmethod
    def read(cls, path: Path) -> PlanFile:
        """The plan at a path; none where there is no such file, or one of another form."""
        try:
            document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if document["version"] != VERSION:
                return cls()
            assignment: dict[str, list[str]] = defaultdict(list)
            for each in document["assignment"]:
                assignment[each["service"]].append(each["node"])
            return cls(dict(assignment), {each["name"]: each["source"] for each in document["services"]})
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def nodes_of(self, placed: Placed, placement: Placement) -> tuple[int, ...] | None:
        """Where it stands in the plan's assignment; None where the resources allow no such thing."""
        names = {placement.nodes[number].name: number for number in placed.nodes}
        chosen = self.assignment.get(placed.service, [])
        if len(set(chosen)) != placed.count or not set(chosen) <= names.keys():
            return None
        return tuple(sorted(names[name] for name in chosen))
