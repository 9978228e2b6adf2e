"""All rules of the pack, and the page that describes them (docs/rules.md, `python -m policy.catalogue`).

A rule is in the pack when it stands in a file of policy/rules that is named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import cast

from policy.rule import AnyRule, Rule
from policy.rules import (
    dedication,
    disruption,
    hosts,
    instances,
    load_balancing,
    masters,
    quorum_sizes,
    rollout,
    separation,
    spread,
)

FAMILIES = (
    instances,
    dedication,
    spread,
    hosts,
    quorum_sizes,
    masters,
    load_balancing,
    separation,
    disruption,
    rollout,
)


def _rules_of(family: ModuleType) -> tuple[AnyRule, ...]:
    return tuple(cast("AnyRule", each) for each in vars(family).values() if isinstance(each, Rule))


RULES: tuple[AnyRule, ...] = tuple(each for family in FAMILIES for each in _rules_of(family))
BY_ID = {each.id: each for each in RULES}

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules.md"


def page() -> str:
    """The catalogue as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/rules; a test keeps it in step. -->"
    yield ""
    yield f"{len(RULES)} rules. All are mandatory in a stack of profile `production` and advisory in a `lab`. A rule"
    yield "that cannot be evaluated (an unknown value, an error) counts as violated: it has not passed."
    yield 'Sources are seeds of this project by number and section; "ours" names a document of our own.'
    yield ""
    yield "| rule | severity | what it says |"
    yield "| --- | --- | --- |"
    for each in RULES:
        yield f"| [{each.id}](#{each.id}) | {each.severity} | {each.title} |"
    for family in FAMILIES:
        yield ""
        yield f"## {(family.__doc__ or '').splitlines()[0].rstrip('.')}"
        for each in _rules_of(family):
            yield from _section(each)


def _section(each: AnyRule) -> Iterator[str]:
    yield ""
    yield f"### {each.id}"
    yield ""
    yield f"**{each.title}.** Severity {each.severity}, since {each.since}."
    yield ""
    yield each.rationale
    yield ""
    yield f"*Remediation.* {each.remediation}"
    yield ""
    yield f"*Not applicable when* {each.otherwise}."
    if each.parameters:
        yield ""
        yield "*Parameters.* " + "; ".join(f"{key}: {_written(value)}" for key, value in each.parameters.items())
    yield ""
    for source in each.sources:
        yield f"- {source}: {source.says}"


def _written(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
