"""Compares the versions in a stack file with those that the stack's last deployment recorded in its state.

Reads only a local state: another backend answers no question without Pulumi. `quorate preview` and `up` compare every
stack, by the policy rules.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from blueprint.plan.plan import Plan
from blueprint.stackfile.settings import Settings
from blueprint.version_steps import VersionProblem, problems
from commands import stack
from contract import VERSIONS_OUTPUT
from formats import waiver_limits
from openstack.planned_versions import planned_versions

RECORD = "previous"
"""The resource that the policy rules name, which a waiver of theirs names too."""


def version_problems(root: Path, file: Path, planned: Plan) -> list[VersionProblem]:
    """Returns why the versions of a stack file may not follow those deployed; [] if none were recorded.

    `file`: the stack file of the plan. Problems that a waiver of the stack file accepts are left out; the policy rules
    check the waiver itself.
    """
    name = file.stem.removeprefix("Pulumi.")
    if not stack.is_name(name) or file.resolve() not in [place.resolve() for place in stack.places(root, name)]:
        return []
    deployed = _recorded(stack.main_workspace(root, name, os.environ).state_file)
    waived = set(_waived(planned.settings))
    found = problems(deployed, planned_versions(planned), is_live=planned.settings.is_live) if deployed else []
    return [each for each in found if each.fault not in waived]


def _waived(settings: Settings) -> Iterator[str]:
    today = waiver_limits.today()
    for waiver in settings.waivers:
        if waiver.expires >= today and waiver.approved_by and fnmatchcase(RECORD, waiver.resource):
            yield waiver.rule


def _recorded(state: Path | None) -> dict[str, str]:
    """Returns the versions in a state file; {} if there is no file, or it has none or is not readable."""
    try:
        document: dict[str, Any] = json.loads(state.read_text(encoding="utf-8")) if state else {}
        resources = document["checkpoint"]["latest"]["resources"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    for each in resources or ():
        if each.get("type") == "pulumi:pulumi:Stack":
            return cast("dict[str, str]", each.get("outputs", {}).get(VERSIONS_OUTPUT) or {})
    return {}
