"""The policy pack's record: the verdicts of all rules on a stack, in a file that the audit reads.

Pulumi's events name violated and passed policies, but not which resources passed. Quorate's commands therefore name a
file in the environment variable contract.VERDICTS_FILE, and the pack writes every verdict into it, whole or not at all,
readable by its owner only. A plain `pulumi preview --policy-pack policy` names no file and shows the same violations.
This module defines the format for its writer (analyzer.py) and its reader (audit/log.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from files import atomic
from policy.facts.known_types import Coverage
from policy.facts.placement.placement_map import PlacementMap
from policy.findings import Enforcement, Finding, Verdict

if TYPE_CHECKING:
    from formats.waiver import Waiver

FILE = "verdicts.json"
"""Name of the file, beside the event log of the same run."""
VERSION = 5


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
class Record:
    """All verdicts of one evaluation of a stack, and what the evaluation depended on."""

    rules: tuple[RuleRecord, ...]
    placement: PlacementMap
    """The nodes that may run each workload."""
    profile: str
    architecture: str
    today: str
    """The date on which waivers were checked for expiry, as 2027-01-31."""
    coverage: Mapping[str, Coverage]
    """How many resources were evaluated, only read, harmless or unknown, by resource type."""

    @cached_property
    def by_rule(self) -> Mapping[str, RuleRecord]:
        return {each.rule: each for each in self.rules}


def recorded(rule: str, enforcement: Enforcement, findings: Iterable[Finding]) -> RuleRecord:
    """Returns the record of a rule, from its findings."""
    verdicts = (RuleVerdict(each.verdict, each.resource, each.message, each.waiver) for each in findings)
    return RuleRecord(rule, enforcement, tuple(verdicts))


def write(record: Record, path: Path) -> None:
    """Writes a record to a file with mode 0600."""
    document = {
        "version": VERSION,
        "profile": record.profile,
        "architecture": record.architecture,
        "today": record.today,
        "coverage": {type_: vars(each) for type_, each in record.coverage.items()},
        "placement": record.placement.to_json(),
        "rules": [
            {"rule": each.rule, "enforcement": each.enforcement, "verdicts": [_written(one) for one in each.verdicts]}
            for each in record.rules
        ],
    }
    atomic.write_private(path, json.dumps(document, separators=(",", ":")))


def read(path: Path) -> Record | None:
    """Reads a record; None if the file does not exist.

    Raises OSError, ValueError, KeyError or TypeError if the file cannot be read or has another version.
    """
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if document.get("version") != VERSION:
        raise ValueError(f"verdicts of version {document.get('version')}; this program reads version {VERSION}")
    coverage = cast("dict[str, dict[str, int]]", document["coverage"])
    rules = (
        RuleRecord(each["rule"], Enforcement(each["enforcement"]), tuple(_verdict(*one) for one in each["verdicts"]))
        for each in cast("Sequence[dict[str, Any]]", document["rules"])
    )
    return Record(
        tuple(rules),
        PlacementMap.from_json(document["placement"]),
        document["profile"],
        document["architecture"],
        document["today"],
        {type_: Coverage(**each) for type_, each in coverage.items()},
    )


def _written(verdict: RuleVerdict) -> list[object]:
    waiver = [verdict.waiver.to_json()] if verdict.waiver else []
    return [verdict.verdict, verdict.resource, verdict.message, *waiver]


def _verdict(verdict: str, resource: str, message: str, waiver: dict[str, str] | None = None) -> RuleVerdict:
    if (verdict == Verdict.WAIVED) != (waiver is not None):
        raise ValueError(f"{resource}: verdict '{verdict}' {'without' if waiver is None else 'with'} a waiver")
    if waiver is None:
        return RuleVerdict(Verdict(verdict), resource, message)
    from formats.waiver import Waiver  # noqa: PLC0415 - loads pydantic, which most records do not need

    return RuleVerdict(Verdict(verdict), resource, message, Waiver.from_json(waiver))
