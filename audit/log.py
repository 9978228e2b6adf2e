"""Reads what a preview wrote: the engine's event log, and beside it the policy pack's record of all verdicts.

An audit is unreliable if the log is empty or truncated, if the preview failed for another reason than a policy of this
pack, if the log has no result of the pack, or if the record cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from policy.engine import record
from policy.engine.events import PACK, EnginePhase, Event, PackSummary, ReportedViolation, parse
from policy.engine.record import Record


@dataclass
class Log:
    """The last phase of an event log, with the policy pack's record of the same run."""

    phase: EnginePhase = field(default_factory=EnginePhase)
    record: Record | None = None
    """The verdicts of all rules; None if the pack wrote none."""
    problems: list[str] = field(default_factory=list[str])
    """Reasons why an audit of the log is unreliable; empty if it is reliable."""

    @property
    def pack(self) -> PackSummary | None:
        """Pulumi's summary of the policy pack; None if the pack did not evaluate the stack."""
        return self.phase.packs.get(PACK)

    @property
    def violations(self) -> list[ReportedViolation]:
        """Violations in the log of rules of this policy pack, without those of other packs."""
        return [violation for violation in self.phase.violations if violation.pack == PACK]


def read(path: Path) -> Log:
    """Reads the event log at a path, and the record beside it. `problems` has the reason if they cannot be read."""
    log = Log()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        log.problems.append(f"the event log {path} cannot be read: {reason}")
        return log
    lines = [line for line in text.split("\n") if line]  # not splitlines: a value may contain U+0085
    for event in _events(lines, log):
        if event.begins_phase:
            log.phase = EnginePhase()
        log.phase.add(event)
    if not lines:
        log.problems.append(f"the event log {path} is empty: no preview has run, or it ended before its first event")
    elif parse(lines[0]):
        _add_record(log, path.with_name(record.FILE))
        _check(log)
    return log


def _events(lines: Iterable[str], log: Log) -> Iterator[Event]:
    for number, line in enumerate(lines, start=1):
        event = parse(line)
        if event is None:
            log.problems.append(f"line {number} of the event log is not a complete event: the log is truncated")
            return
        yield event


def _add_record(log: Log, path: Path) -> None:
    try:
        log.record = record.read(path)
    except (OSError, ValueError, KeyError, TypeError) as reason:
        log.problems.append(f"the policy pack's record {path} cannot be read: {reason}")


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
