"""Reads the event log of a preview: the verdicts of every rule, and problems that make an audit of it unreliable.

An audit is unreliable if the log is empty or truncated, if the preview failed for another reason than a policy of this
pack, or if the log has no result of the pack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from policy.engine import record
from policy.engine.events import PACK, Event, PackSummary, Phase, Violation, parse
from policy.facts.placement_map import Placement


@dataclass
class Log:
    """The last phase of an event log, with the policy pack's record (policy/engine/record.py) in its messages."""

    phase: Phase = field(default_factory=Phase)
    records: dict[str, record.RuleRecord] = field(default_factory=dict[str, record.RuleRecord])
    """The pack's record of each rule, by rule id."""
    placement: Placement | None = None
    end: record.EndRecord | None = None
    problems: list[str] = field(default_factory=list[str])
    """Reasons why an audit of the log is unreliable; empty if it is reliable."""

    @property
    def recorded(self) -> bool:
        """Whether the log contains the policy pack's own record."""
        return bool(self.records) or self.end is not None

    @property
    def pack(self) -> PackSummary | None:
        """Pulumi's summary of the policy pack; None if the pack did not evaluate the stack."""
        return self.phase.packs.get(PACK)

    @property
    def violations(self) -> list[Violation]:
        """Violations in the log of rules of this policy pack, without those of other packs."""
        return [violation for violation in self.phase.violations if violation.pack == PACK]


def read(path: Path) -> Log:
    """Reads the event log at a path. If the log cannot be read, the result has the reason in `problems`."""
    log = Log()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        log.problems.append(f"the event log {path} cannot be read: {reason}")
        return log
    lines = [line for line in text.split("\n") if line]  # not splitlines: a value may contain U+0085
    for event in _events(lines, log):
        if event.begins_phase:
            log.phase = Phase()
        log.phase.add(event)
    if not lines:
        log.problems.append(f"the event log {path} is empty: no preview has run, or it ended before its first event")
    elif parse(lines[0]):
        _add_records(log)
        _check(log)
    return log


def _events(lines: Iterable[str], log: Log) -> Iterator[Event]:
    for number, line in enumerate(lines, start=1):
        event = parse(line)
        if event is None:
            log.problems.append(f"line {number} of the event log is not a complete event: the log is truncated")
            return
        yield event


def _add_records(log: Log) -> None:
    try:
        for each in record.read(log.phase.messages):
            if isinstance(each, record.EndRecord):
                log.end = each
            elif isinstance(each, Placement):
                log.placement = each
            else:
                log.records[each.rule] = each
    except (ValueError, KeyError, TypeError) as reason:
        log.problems.append(f"the pack's record in the event log cannot be read: {reason}")
    if log.records and log.end is None:
        log.problems.append("the pack's record in the event log has no end: the log is truncated")
    if log.end and log.end.rules != len(log.records):
        log.problems.append(f"the event log has records of {len(log.records)} rules; the pack wrote {log.end.rules}")


def _check(log: Log) -> None:
    """Adds a problem if the preview failed for another reason than this pack's rules, or has no result of the pack."""
    phase = log.phase
    foreign = sorted({violation.pack for violation in phase.mandatory} - {PACK})
    log.problems += [f"the preview failed: {cause}" for cause in phase.causes]
    log.problems += [f"policies of another pack stop the preview: {pack}" for pack in foreign]
    if phase.end is None:
        log.problems.append("the event log has no end: the preview was interrupted")
    elif phase.end.result != "succeeded" and not phase.mandatory and not phase.causes:
        log.problems.append(f"the preview ended as '{phase.end.result}' without an error message")
    if log.pack is None:
        log.problems.append("the policy pack did not evaluate the stack: the event log has no summary of it")
