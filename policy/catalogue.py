"""All rules of the pack, and the pages about them (`python -m policy.catalogue`).

docs/rules.md describes every rule, docs/rules-not-made.md what the sources ask for and no rule judges.

A rule is in the pack when it stands in a file of policy/rules that is named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import cast

from policy.facts.stack import LAB, PRODUCTION
from policy.requirements import Norm, parts
from policy.rule import AnyRule, Rule
from policy.rules import (
    anti_affinity,
    api,
    capacity,
    colocation,
    commands,
    control_plane,
    dedication,
    disruption,
    distinct_hosts,
    failures,
    images,
    instances,
    load_balancing,
    masters,
    messaging,
    monitoring,
    privileges,
    quorum_sizes,
    rollout,
    secrets,
    spread,
    stateful,
    updates,
    virt,
    waivers,
)

FAMILIES = (
    instances,
    dedication,
    spread,
    distinct_hosts,
    failures,
    quorum_sizes,
    stateful,
    messaging,
    masters,
    api,
    control_plane,
    virt,
    load_balancing,
    anti_affinity,
    colocation,
    monitoring,
    capacity,
    disruption,
    rollout,
    updates,
    commands,
    secrets,
    images,
    privileges,
    waivers,  # last: they judge what the waivers came to while all other rules were evaluated
)


def _rules_of(family: ModuleType) -> tuple[AnyRule, ...]:
    return tuple(cast("AnyRule", each) for each in vars(family).values() if isinstance(each, Rule))


RULES: tuple[AnyRule, ...] = tuple(each for family in FAMILIES for each in _rules_of(family))
BY_ID = {each.id: each for each in RULES}
WAIVABLE = frozenset(BY_ID) - {each.id for each in _rules_of(waivers)}
"""Rules that a waiver may name; those about waivers are none of them."""

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[Path, str]:
    """The catalogue as Markdown: the text of each page."""
    lines = {DOCS / "rules.md": _lines(), DOCS / "rules-not-made.md": _not_made()}
    return {path: "\n".join(each) + "\n" for path, each in lines.items()}


def _lines() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/rules; a test keeps it in step. -->"
    yield ""
    yield f"{len(RULES)} rules. A mandatory rule stops an update, an advisory one only warns; which it is follows from"
    yield "the profile of the stack. A rule that cannot be evaluated (an unknown value, an error) counts as violated:"
    yield "it has not passed. Sources are cited by document number and section; a project requirement is Quorate's own."
    yield "What the sources ask for and no rule judges stands in [rules-not-made.md](rules-not-made.md)."
    yield ""
    yield "| rule | severity | in production | in a lab | what it says |"
    yield "| --- | --- | --- | --- | --- |"
    for each in RULES:
        levels = f"{each.enforced(PRODUCTION)} | {each.enforced(LAB)}"
        yield f"| [{each.id}](#{each.id}) | {each.severity} | {levels} | {each.title} |"
    for family in FAMILIES:
        yield ""
        yield f"## {(family.__doc__ or '').splitlines()[0].rstrip('.')}"
        for each in _rules_of(family):
            yield from _section(each)


def _section(each: AnyRule) -> Iterator[str]:
    yield ""
    yield f"### {each.id}"
    yield ""
    levels = f"{each.enforced(PRODUCTION)} in production, {each.enforced(LAB)} in a lab"
    yield f"**{each.title}.** Severity {each.severity}, {levels}, since {each.since}."
    yield ""
    yield each.rationale
    yield ""
    yield f"*Remediation.* {each.remediation}"
    yield ""
    yield f"*Not applicable when* {each.not_applicable_reason}."
    if each.parameters:
        yield ""
        yield "*Parameters.* " + "; ".join(f"{key}: {_written(value)}" for key, value in each.parameters.items())
    yield ""
    for source in each.sources:
        yield f"- {source}: {source.says}"


def _written(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _not_made() -> Iterator[str]:
    yield "# What the sources ask for"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/requirements; a test keeps it in step. -->"
    yield ""
    yield 'Every sentence of the sources with "should", "must", "recommended", "required" or the like became a rule of'
    yield "the policy pack ([rules.md](rules.md)), or it stands here with the reason why it did not."
    for part in parts():
        yield ""
        yield f"## {part.title}"
        yield ""
        yield "### No rule"
        yield ""
        yield "| section | it says | why no rule judges it |"
        yield "| --- | --- | --- |"
        yield from (_row(norm, norm.why_not) for norm in part.norms if norm.why_not)
        yield ""
        yield "### Rules"
        yield ""
        yield "| section | it says | judged by |"
        yield "| --- | --- | --- |"
        yield from (_row(norm, _links(norm.rules)) for norm in part.norms if norm.rules)


def _row(norm: Norm, last: str) -> str:
    return f"| {norm.section} | {norm.says} | {last} |"


def _links(rules: Iterable[str]) -> str:
    return ", ".join(f"[{each}](rules.md#{each})" for each in rules)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
