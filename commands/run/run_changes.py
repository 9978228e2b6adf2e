"""Groups the changes of a Pulumi run by operation, namespace and kind, such as `+ 12 ConfigMaps in nova`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from commands.run import resources
from commands.run.resources import ResourceKind
from policy.engine.events import EngineStep, Event

SIGNS = {"delete": "-", "replace": "±", "update": "~", "import": "=", "create": "+"}
"""Signs of operations, in the order in which changes are listed: removals first."""
NAMED = 3
"""Largest group of which the names are listed; the log of the run has all of them."""


@dataclass
class RunChanges:
    """The changes of the last phase of a run."""

    _steps: dict[str, EngineStep] = field(default_factory=dict[str, EngineStep])

    def take(self, event: Event) -> None:
        """Follows an event of the run."""
        if event.begins_phase:
            self._steps = {}
        if (step := event.finished) and step.operation in SIGNS and not resources.is_default_provider(step):
            self._steps[step.urn] = step

    def lines(self) -> Iterator[str]:
        """Yields a line for each group of changes."""
        groups: dict[tuple[str, ResourceKind], list[EngineStep]] = {}
        for step in self._steps.values():
            groups.setdefault((step.operation, resources.kind(step)), []).append(step)
        order = list(SIGNS)
        for (operation, kind), steps in sorted(groups.items(), key=lambda each: (order.index(each[0][0]), each[0][1])):
            names = f": {', '.join(sorted(map(_told, steps)))}" if len(steps) <= NAMED else ""
            yield f"{SIGNS[operation]} {kind.counted(len(steps))}{names}"


def _told(step: EngineStep) -> str:
    changed = f" ({', '.join(step.changed)})" if step.operation != "create" and step.changed else ""
    return f"{resources.name(step)}{changed}"
