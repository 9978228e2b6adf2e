"""The pack's record: the verdicts of one stack validation, as debug messages in the engine's event log.

The engine's events name violated and passed policies, but not which resources passed, nor why a policy did not apply.
The pack therefore writes every verdict as a debug message, which the event log contains and the screen does not show.
This module defines the form of the record for its writer (analyzer.py) and its reader (audit/log.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from policy.facts.known_types import Coverage
from policy.facts.placement_map import Placement
from policy.findings import Enforcement, Finding, Verdict, Waiver

PREFIX = "quorate-verdicts "
VERSION = 4


@dataclass(frozen=True)
class RuleVerdict:
    """The verdict of one rule on one resource."""

    verdict: Verdict
    resource: str
    message: str
    waiver: Waiver | None = None
    """The waiver of a waived failure."""


@dataclass(frozen=True)
class RuleRecord:
    """The verdicts of one rule on all resources it evaluated."""

    rule: str
    enforcement: Enforcement
    verdicts: tuple[RuleVerdict, ...]


@dataclass(frozen=True)
class EndRecord:
    """The last message of a record: what was evaluated. A record without it is truncated."""

    rules: int
    resources: int
    profile: str
    architecture: str
    today: str
    """The date on which waivers were checked for expiry, as 2027-01-31."""
    coverage: Mapping[str, Coverage]
    """How many resources of each type were evaluated."""


def written_rules(rules: Iterable[tuple[str, Enforcement, Iterable[Finding]]]) -> str:
    """One message with the verdicts of all rules, because the pack waits for the engine after each message."""
    records = [
        {"rule": rule, "enforcement": enforcement, "verdicts": [_written_verdict(each) for each in findings]}
        for rule, enforcement, findings in rules
    ]
    return _written({"rules": records})


def written_placement(placement: Placement) -> str:
    """The message with the nodes that may run each workload."""
    return _written({"placement": placement.to_json()})


def written_end(end: EndRecord) -> str:
    """The message that closes the record."""
    counts = {type_: vars(each) for type_, each in end.coverage.items()}
    return _written({"end": {**vars(end), "coverage": counts}})


def read(messages: Iterable[str]) -> Iterator[RuleRecord | Placement | EndRecord]:
    """Yields the records among these messages. Raises ValueError for a malformed record or another version."""
    for message in messages:
        if message.startswith(PREFIX):
            yield from _read(cast("dict[str, Any]", json.loads(message.removeprefix(PREFIX))))


def _written(content: dict[str, Any]) -> str:
    return PREFIX + json.dumps({"version": VERSION, **content}, separators=(",", ":"))


def _written_verdict(finding: Finding) -> list[object]:
    return [
        finding.verdict,
        finding.resource,
        finding.message,
        *([finding.waiver.to_json()] if finding.waiver else []),
    ]


def _read(content: dict[str, Any]) -> Iterator[RuleRecord | Placement | EndRecord]:
    if content.get("version") != VERSION:
        raise ValueError(f"verdicts of version {content.get('version')}; this program reads version {VERSION}")
    if "end" in content:
        end = cast("dict[str, Any]", content["end"])
        written = cast("dict[str, dict[str, int]]", end.pop("coverage"))
        yield EndRecord(**end, coverage={type_: Coverage(**each) for type_, each in written.items()})
    if "placement" in content:
        yield Placement.from_json(content["placement"])
    for each in cast("Sequence[dict[str, Any]]", content.get("rules", ())):
        verdicts = cast("Sequence[Sequence[Any]]", each["verdicts"])
        yield RuleRecord(each["rule"], Enforcement(each["enforcement"]), tuple(_verdict(*one) for one in verdicts))


def _verdict(verdict: str, resource: str, message: str, waiver: dict[str, str] | None = None) -> RuleVerdict:
    if (verdict == Verdict.WAIVED) != (waiver is not None):
        raise ValueError(f"{resource}: verdict '{verdict}' {'without' if waiver is None else 'with'} a waiver")
    return RuleVerdict(Verdict(verdict), resource, message, Waiver.from_json(waiver) if waiver else None)
