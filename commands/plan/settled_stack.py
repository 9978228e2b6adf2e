"""Makes a stack of what a file gives to it, and leaves out the settings that the stack refuses, each with the reason.

The stack's own checks and its planner decide, so that the stack file of an import has a plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from blueprint.imports import ImportLine, ReadFile
from blueprint.imports.import_rules import refused_by
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile.loader import from_pulumi
from blueprint.topology import StackSetting
from blueprint.topology.document import as_section

_EXACT_ROUNDS, _WIDE_ROUNDS = 5, 10
"""Rounds that leave out the settings that the stack's problems name, and rounds that leave out those beside them too.
The next round leaves out all settings."""
_NEAR = 3
"""Keys of a setting's path that settings beside it share: projects, nova, options."""


@dataclass(frozen=True)
class ImportedStack:
    """A stack that a file of another deployer became."""

    settings: Mapping[str, object]
    """The settings of the stack file, without `quorate:`."""
    lines: tuple[ImportLine, ...]


def settled(read: ReadFile) -> ImportedStack:
    """Returns the stack of a file. Raises InvalidStackError, with every problem, if it has no plan without settings."""
    bare = [replace(line, settings=()) if _has_counts(line) else line for line in read.lines]
    base, found = _without_refused(read, bare)
    instances = {process.name: process.instances for process in base.processes}
    counted = [
        _compared(line, instances) if _has_counts(line) else kept for line, kept in zip(read.lines, found, strict=True)
    ]
    _, lines = _without_refused(read, counted)
    return ImportedStack(_tree(read, lines), tuple(lines))


def _has_counts(line: ImportLine) -> bool:
    """Whether the line gives numbers of instances."""
    return any(_is_count(setting) for setting in line.settings)


def _is_count(setting: StackSetting) -> bool:
    return setting.path[0] == "services" and setting.path[-1] == "replicas"


def _compared(line: ImportLine, instances: Mapping[str, int]) -> ImportLine:
    """Returns a line with counts without those that the plan has by itself."""
    kept = tuple(each for each in line.settings if instances.get(each.path[1]) != each.value)
    if not kept:
        return replace(line, fate="same", text="the stack has as many instances by itself", settings=())
    return replace(line, text=" and ".join(each.place for each in kept), settings=kept)


def _without_refused(read: ReadFile, lines: Sequence[ImportLine]) -> tuple[Plan, list[ImportLine]]:
    """Returns the plan of a stack with the lines' settings, and the lines, without those that the stack refuses.

    Raises InvalidStackError if the stack has no plan without any of the settings.
    """
    found = list(lines)
    for number in count():
        try:
            return _planned(_tree(read, found)), found
        except InvalidStackError as error:
            refused = _refused(found, error.problems, number)
            if not refused:
                raise
            found = [_left_out(line, refused[place]) if place in refused else line for place, line in enumerate(found)]
    raise AssertionError("unreachable")  # each round leaves a line out


def _refused(lines: Sequence[ImportLine], problems: Sequence[Problem], number: int) -> dict[int, Problem]:
    """Returns the lines to leave out by their place, each with its problem: () if no line has a setting.

    Of many similar problems a stack names one, so later rounds leave out more. `number`: the number of the round.
    """
    reaches = (_is_of, _is_beside, _is_in) if number < _EXACT_ROUNDS else (_is_near,)
    for is_about in reaches if number < _EXACT_ROUNDS + _WIDE_ROUNDS else ():
        found = {
            place: problem
            for place, line in enumerate(lines)
            for problem in problems
            if any(is_about(problem, setting) for setting in line.settings)
        }
        if found:
            return found
    counts = {place: problems[0] for place, line in enumerate(lines) if _has_counts(line)}
    return counts or {place: problems[0] for place, line in enumerate(lines) if line.settings}


def _is_of(problem: Problem, setting: StackSetting) -> bool:
    """Whether the problem is that of the setting, or of the key that it is in, such as `projects.nova`."""
    return setting.value != {} and refused_by(problem, setting)


def _is_beside(problem: Problem, setting: StackSetting) -> bool:
    """Whether the problem is that of a key beside the setting, which may be missing."""
    above = problem.key.rpartition(".")[0]
    return "." in above and _is_of(replace(problem, key=above), setting)


def _is_in(problem: Problem, setting: StackSetting) -> bool:
    """Whether the problem is that of a key in the setting, whose value is an empty mapping that others fill."""
    return setting.value == {} and refused_by(problem, setting)


def _is_near(problem: Problem, setting: StackSetting) -> bool:
    """Whether the problem is that of one of the keys beside the setting, such as another option of its project."""
    return refused_by(problem, replace(setting, path=setting.path[:_NEAR]))


def _left_out(line: ImportLine, problem: Problem) -> ImportLine:
    return replace(line, fate="left out", text=f"the stack refuses {problem}", settings=())


def _planned(tree: Mapping[str, object]) -> Plan:
    config = {f"quorate:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in tree.items()}
    return plan(from_pulumi(config, ()))


def _tree(read: ReadFile, lines: Iterable[ImportLine]) -> dict[str, object]:
    """Returns the settings of the stack file. Later lines have precedence."""
    whole: dict[str, Any] = {"profile": "lab", **read.fixed}
    for setting in (setting for line in lines for setting in line.settings):
        *above, last = setting.path
        part: Any = whole
        for name in above:
            if not isinstance(part.get(name), dict):
                part[name] = {}
            part = part[name]
        value, there = as_section(setting.value), as_section(part.get(last))
        part[last] = setting.value if value is None else {**(there or {}), **value}
    return {**whole, "servers": [*read.servers]}
