"""The verdicts of one stack validation, as the pack leaves them in the engine's own event log.

The engine's events name violated and passed policies, but not which resources passed, nor why a policy did not apply.
The pack therefore writes every verdict beside them, as debug messages: the event log keeps those, the screen does not
show them. This module owns their form, for the writer (analyzer.py) and the reader (report/).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from policy.facts.placement_map import Placement
from policy.findings import Enforcement, Finding, Verdict, Waiver

PREFIX = "quorate-verdicts "
VERSION = 2


@dataclass(frozen=True)
class Said:
    """What a rule said of one resource."""

    verdict: Verdict
    resource: str
    message: str
    waiver: Waiver | None = None
    """Of a waived failure."""


@dataclass(frozen=True)
class RuleRecord:
    """Everything that one rule said."""

    rule: str
    enforcement: Enforcement
    said: tuple[Said, ...]


@dataclass(frozen=True)
class EndRecord:
    """Written last: what was judged. Without it the record is not whole."""

    rules: int
    resources: int
    profile: str
    architecture: str
    today: str
    """The day by which waivers were judged, as 2027-01-31."""


def written_rule(rule: str, enforcement: Enforcement, findings: Iterable[Finding]) -> str:
    """The message for one rule."""
    said = [
        [each.verdict, each.resource, each.message, *([each.waiver.to_json()] if each.waiver else [])]
        for each in findings
    ]
    return _written({"rule": rule, "enforcement": enforcement, "said": said})


def written_placement(placement: Placement) -> str:
    """The message with what may run where."""
    return _written({"placement": placement.to_json()})


def written_end(end: EndRecord) -> str:
    """The message that closes the record."""
    return _written({"end": vars(end)})


def read(messages: Iterable[str]) -> Iterator[RuleRecord | Placement | EndRecord]:
    """The records among these messages. ValueError for one that is not whole, or of another version."""
    for message in messages:
        if message.startswith(PREFIX):
            yield _read(cast("dict[str, Any]", json.loads(message.removeprefix(PREFIX))))


def _written(content: dict[str, Any]) -> str:
    return PREFIX + json.dumps({"version": VERSION, **content}, separators=(",", ":"))


def _read(content: dict[str, Any]) -> RuleRecord | Placement | EndRecord:
    if content.get("version") != VERSION:
        raise ValueError(f"verdicts of version {content.get('version')}; this program reads version {VERSION}")
    if "end" in content:
        return EndRecord(**content["end"])
    if "placement" in content:
        return Placement.from_json(content["placement"])
    said = cast("Sequence[Sequence[Any]]", content["said"])
    return RuleRecord(
        content["rule"],
        Enforcement(content["enforcement"]),
        tuple(_said(*each) for each in said),
    )


def _said(verdict: str, resource: str, message: str, waiver: dict[str, str] | None = None) -> Said:
    if (verdict == Verdict.WAIVED) != (waiver is not None):
        raise ValueError(f"a verdict '{verdict}' of {resource} that does not go with its waiver")
    return Said(Verdict(verdict), resource, message, Waiver.from_json(waiver) if waiver else None)
