"""What one instance of each service asks of its node, by profile.

The seed gives figures for monitoring alone; the others are ours and say that they are unmeasured. The planner checks
with them that what it places also fits, and workloads carry them as requests and limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

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
    source: Source | None = None
    """Where the figures come from; in the file, left out where it is the file's own."""


class Sizing(Facts):
    """The form of sizing.yaml."""

    source: Source
    services: dict[str, dict[Profile, Resources]]


@cache
def load_sizing() -> Mapping[str, Mapping[str, Resources]]:
    """Resources by service and profile, for every service of every reference architecture (a test keeps it so)."""
    text = FILE.read_text(encoding="utf-8")
    sizing = Sizing.model_validate_json(yaml_reader.to_json(yaml_reader.load(text)))
    return {
        service: {profile: _sourced(resources, sizing.source) for profile, resources in profiles.items()}
        for service, profiles in sizing.services.items()
    }


def _sourced(resources: Resources, source: Source) -> Resources:
    return resources if resources.source else replace(resources, source=source)
