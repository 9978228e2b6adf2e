"""Maps controls of standards and benchmarks to the rules that evaluate them, as data in YAML files.

    - framework: SCS-0214                  # the id that reports show
      title: …
      version: v2                          # the edition that was read
      place: where its text is
      controls:
        - control: SCS-0214-1              # unique among all frameworks
          where: Decision, item 1          # the place in the text, which is not copied
          says: what it requires, in Quorate's words
          rules: [masters-apart]           # [] if no rule evaluates it
          not_judged: what the rules cannot tell of it; required if there is no rule

A control passes if its rules pass; `not_judged` says what that does not prove. `python -m policy.catalogue` writes
docs/frameworks.md from these files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from files import yaml_reader

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Control:
    """One requirement of a framework, with the rules that evaluate it."""

    control: str
    where: str
    says: str
    rules: tuple[str, ...]
    not_judged: str
    """What the rules cannot tell; "" if they tell all of it."""


@dataclass(frozen=True)
class Framework:
    """A standard or benchmark, with those of its controls that are about what the policy pack evaluates."""

    framework: str
    title: str
    version: str
    place: str
    controls: tuple[Control, ...]


@cache
def frameworks() -> tuple[Framework, ...]:
    """Returns all frameworks, in the order of the files. Raises ValueError, which names an empty control."""
    found: list[Framework] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for written in cast("list[dict[str, Any]]", yaml_reader.load(path.read_text(encoding="utf-8"))):
            controls = tuple(_control(path.name, each) for each in written.pop("controls"))
            found.append(Framework(**written, controls=controls))
    return tuple(found)


def _control(file: str, written: dict[str, Any]) -> Control:
    rules: list[str] = written.pop("rules")
    control = Control(rules=tuple(rules), not_judged=written.pop("not_judged", ""), **written)
    if not control.rules and not control.not_judged:
        raise ValueError(f"{file}, {control.control}: write rules, or not_judged with the reason why there are none")
    return control


@cache
def of_rule(rule: str) -> tuple[str, ...]:
    """Returns the ids of the frameworks with a control that the rule evaluates."""
    return tuple(each.framework for each in frameworks() if any(rule in control.rules for control in each.controls))
