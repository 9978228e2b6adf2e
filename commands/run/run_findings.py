"""Groups the violations that policy packs report in a Pulumi run by their rule, those that stop an update first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.engine.events import PACK, ReportedViolation
from text.quoting import printable

MOST = 3
"""Largest number of findings that are shown of one rule."""


def lines(violations: Iterable[ReportedViolation]) -> Iterator[str]:
    """Yields a line for each rule, and below it the rule's findings and its fix."""
    groups: dict[tuple[str, str, str], list[ReportedViolation]] = {}
    for each in sorted(violations, key=lambda each: not each.is_mandatory):
        groups.setdefault((each.enforcement, each.pack, each.rule), []).append(each)
    for (enforcement, pack, rule), found in groups.items():
        yield f"[{enforcement}] {rule if pack == PACK else f'{pack}: {rule}'}"
        for each in found[:MOST]:
            yield from (f"  {line}" for line in _findings(each))
        if len(found) > MOST:
            yield f"  and {len(found) - MOST} more"
        if pack == PACK:
            yield from (f"  {line}" for line in _lines(found[0]) if line.startswith("Fix: "))


def _findings(violation: ReportedViolation) -> list[str]:
    """Returns the lines of a violation's message; of this pack only the finding, which follows the rule's title."""
    return _lines(violation)[1:2] or _lines(violation) if violation.pack == PACK else _lines(violation)


def _lines(violation: ReportedViolation) -> list[str]:
    return [line.strip() for line in printable(violation.message).splitlines()]
