"""Writes and reads the policy pack's record: all verdicts of one evaluation, as debug messages in Pulumi's event log.

Pulumi's events name violated and passed policies, but not which resources passed, nor why a policy did not apply. The
pack therefore writes every verdict as a debug message, which the event log contains and the terminal does not show.
This module defines the record's format for its writer (analyzer.py) and its reader (audit/log.py).
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
    """The waiver of a waived failure; None for other verdicts."""


@dataclass(frozen=True)
class RuleRecord:
    """The verdicts of one rule on all resources that the rule evaluated, as recorded."""

    rule: str
    enforcement: Enforcement
    verdicts: tuple[RuleVerdict, ...]


@dataclass(frozen=True)
class EndRecord:
    """The last message of a record: how many rules and resources were evaluated.

    Without it, the record is truncated.
    """

    rules: int
    resources: int
    profile: str
    architecture: str
    today: str
    """The date on which waivers were checked for expiry, as 2027-01-31."""
    coverage: Mapping[str, Coverage]
    """How many resources were evaluated, only read, harmless or unknown, by resource type."""


def written_rules(rules: Iterable[tuple[str, Enforcement, Iterable[Finding]]]) -> str:
    """Returns a message with the verdicts of all rules.

    It is one message, because the pack waits after each message.
    """
    records = [
        {"rule": rule, "enforcement": enforcement, "verdicts": [_written_verdict(each) for each in findings]}
        for rule, enforcement, findings in rules
    ]
    return _written({"rules": records})


def written_placement(placement: Placement) -> str:
    """Returns a message with the placement of the stack: the nodes that may run each workload."""
    return _written({"placement": placement.to_json()})


def written_end(end: EndRecord) -> str:
    """Returns the message that ends a record."""
    counts = {type_: vars(each) for type_, each in end.coverage.items()}
    return _written({"end": {**vars(end), "coverage": counts}})


def read(messages: Iterable[str]) -> Iterator[RuleRecord | Placement | EndRecord]:
    """Yields the contents of the pack's record among an event log's messages; other messages are ignored.

    Raises ValueError, KeyError or TypeError if the record is malformed or has another version.
    """
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
