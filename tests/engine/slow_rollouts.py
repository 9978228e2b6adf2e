"""A copy of the program in which StatefulSets take time to be rolled, as those of a running cluster do.

The provider of rendered objects awaits nothing. This one writes into a file when a rollout starts and ends, so that a
test sees which rollouts the engine makes at the same time.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pulumi
from pulumi import dynamic

from components.kubernetes_api import apps
from components.openstack import process

LOG = "rollouts.log"
SECONDS = 0.5
"""How long a rollout takes: rollouts that do not wait for each other overlap."""


class SlowProvider(dynamic.ResourceProvider):
    """Rolls a StatefulSet slowly."""

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        _roll(props["name"])
        return dynamic.CreateResult(props["name"], props)

    def diff(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> dynamic.DiffResult:
        return dynamic.DiffResult(changes=old["spec"] != new["spec"])

    def update(self, _id: str, _old: dict[str, Any], new: dict[str, Any]) -> dynamic.UpdateResult:
        _roll(new["name"])
        return dynamic.UpdateResult(new)


def _roll(name: str) -> None:
    for word, pause in (("start", SECONDS), ("end", 0)):
        with Path(LOG).open("a", encoding="utf-8") as file:
            file.write(f"{word} {name}\n")
        time.sleep(pause)


class SlowStatefulSet(dynamic.Resource):
    """Stands for a StatefulSet."""

    def __init__(self, name: str, *, metadata: Any, spec: Any, opts: pulumi.ResourceOptions) -> None:
        super().__init__(SlowProvider(), name, {"name": metadata["name"], "spec": spec}, opts)


class _SlowApps:
    """The API group apps/v1, with slow StatefulSets."""

    StatefulSet = SlowStatefulSet

    def __getattr__(self, kind: str) -> Any:
        return getattr(apps, kind)


def install() -> None:
    """Makes the program's StatefulSets slow."""
    process.apps = _SlowApps()
