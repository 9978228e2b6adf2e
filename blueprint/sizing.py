"""What one instance of each service asks of its node, by profile.

The seed gives figures for monitoring alone; the others are ours and say that they are unmeasured. The planner checks
with them that what it places also fits, and workloads carry them as requests and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from blueprint import stackfile
from blueprint.architecture import NAMES, load_architecture
from blueprint.problems import Problem, Refused
from blueprint.source import Count, Facts, Source

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
def load_sizing(path: Path = FILE) -> Mapping[str, Mapping[str, Resources]]:
    """Resources by service and profile, for every service of every reference architecture.

    Raises Refused with all that the file lacks.
    """
    try:
        sizing = Sizing.model_validate_json(stackfile.to_json(yaml.safe_load(path.read_text(encoding="utf-8"))))
    except ValidationError as error:
        raise Refused(
            [
                Problem(f"{path}, {'.'.join(str(part) for part in item['loc'])}", item["msg"])
                for item in error.errors(include_url=False)
            ]
        ) from None
    problems = list(_problems(path, sizing))
    if problems:
        raise Refused(problems)
    return {
        service: {profile: _sourced(resources, sizing.source) for profile, resources in profiles.items()}
        for service, profiles in sizing.services.items()
    }


def _sourced(resources: Resources, source: Source) -> Resources:
    return resources if resources.source else replace(resources, source=source)


def _problems(path: Path, sizing: Sizing) -> Iterator[Problem]:
    needed = {row.service for name in NAMES for row in load_architecture(name).rows if row.replaced_by is None}
    for service in sorted(needed - set(sizing.services)):
        yield Problem(f"{path}, services.{service}", "is missing; write its production and lab")
    for service, profiles in sizing.services.items():
        if service not in needed:
            known = ", ".join(sorted(needed))
            yield Problem(f"{path}, services.{service}", f"is in no reference architecture; write one of: {known}")
        for profile in get_args(Profile):
            if profile not in profiles:
                key = f"{path}, services.{service}.{profile}"
                yield Problem(key, "is missing; write cpu_m, memory_mi, limit_memory_mi")
        for profile, resources in profiles.items():
            yield from _below_request(f"{path}, services.{service}.{profile}", resources)


def _below_request(key: str, resources: Resources) -> Iterator[Problem]:
    if resources.limit_memory_mi < resources.memory_mi:
        wrong = f"limits memory to {resources.limit_memory_mi} MiB, below its request"
        yield Problem(key, f"{wrong}; write limit_memory_mi: {resources.memory_mi} or more")
    if resources.limit_cpu_m is not None and resources.limit_cpu_m < resources.cpu_m:
        wrong = f"limits CPU to {resources.limit_cpu_m} millicores, below its request"
        yield Problem(key, f"{wrong}; write limit_cpu_m: {resources.cpu_m} or more, or leave it out")
