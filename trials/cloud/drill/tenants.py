"""Instances that live through a drill: their packets, connections and writes, as instances/traffic.py observes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.cloud import client
from trials.cloud.drill import load, result
from trials.cloud.drill.result import Event, Silence, Writes


@dataclass(frozen=True)
class Tenants:
    """How the instances of a drill are made and asked."""

    release: Path
    """Environment with openstacksdk."""
    settings: Path
    """clouds.yaml."""
    instances: client.Instances

    def evacuate(self, host: str) -> str:
        """Evacuates the instances of a compute that has failed; returns the steps' seconds. Raises UserError."""
        return client.run_tenant(self.settings, self._command("evacuation.py", host))

    def observed(self) -> load.Reporting:
        """Makes the instances; returns the process that observes them. Raises UserError if they do not come."""
        return load.traffic(self._command("traffic.py", "run"), client.variables(self.settings))

    def writes(self, events: Sequence[Event], end: float) -> dict[str, Writes]:
        """Returns how the writes to each volume went until `end`. Starts instances that have ended, to read them."""
        text = client.run_tenant(self.settings, self._command("traffic.py", "found"))
        found: Mapping[str, Sequence[int]] = json.loads(text)
        tried: dict[str, list[tuple[float, int, str | None]]] = {title: [] for title in found}
        for event in events:
            if event["kind"] == "write":
                tried.setdefault(event["what"], []).append((event["t"], event["number"], event["reason"]))
        return {
            f"volume of {title}": result.writes(each, frozenset(found.get(title, ())), end)
            for title, each in tried.items()
        }

    def clean(self) -> None:
        """Deletes the instances and all that belongs to them."""
        client.run_tenant(self.settings, self._command("traffic.py", "clean"))

    def _command(self, program: str, what: str) -> list[str]:
        return self.instances.command(self.release, self.settings, program, what)


def silences(events: Sequence[Event], end: float) -> dict[str, Silence]:
    """Returns how each connection and address of the instances answered until `end`."""
    titles = dict.fromkeys(event["api"] for event in events if event["kind"] == "answer")
    return {title: result.silence(events, title, end) for title in sorted(titles)}
