"""Reading the engine's event log: what the policies said, and whether the log can be believed.

The log is the file of `pulumi preview --event-log`, one JSON event a line. A log that is empty, cut short, of a preview
that failed for a reason of its own, or without the pack is no basis for an audit: each is a problem, said in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from policy.engine import record
from policy.facts.placement_map import Placement

Event = dict[str, Any]

PACK = "quorate"
PROFILE = "quorate:profile"
_CONSEQUENCES = ("preview failed", "update failed")
"""The engine's closing error where policies stopped it; anything else is a reason of its own."""


@dataclass(frozen=True)
class Violation:
    """A violation as the engine reported it."""

    rule: str
    resource: str
    enforcement: str
    message: str


@dataclass
class Log:
    """What an event log says of one operation."""

    violations: list[Violation] = field(default_factory=list[Violation])
    passed: set[str] = field(default_factory=set[str])
    records: dict[str, record.RuleRecord] = field(default_factory=dict[str, record.RuleRecord])
    placement: Placement | None = None
    end: record.EndRecord | None = None
    profile: str = ""
    stack_urn: str = ""
    version: str = ""
    time: int = 0
    pack_ran: bool = False
    problems: list[str] = field(default_factory=list[str])

    @property
    def recorded(self) -> bool:
        """Whether the pack's own verdicts are in the log."""
        return bool(self.records) or self.end is not None


def read(path: Path) -> Log:
    """The log at this path; whatever keeps it from being believed stands in its problems."""
    log = Log()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        log.problems.append(f"the event log {path} cannot be read: {reason}")
        return log
    events = list(_events(lines, log))
    if not events and not log.problems:
        log.problems.append(f"the event log {path} is empty: no preview has run, or it ended before it began")
    if events:
        _take(_last_phase(events), log)
    return log


def _events(lines: Iterable[str], log: Log) -> Iterator[Event]:
    for number, line in enumerate(lines, start=1):
        try:
            event: object = json.loads(line)
        except ValueError:
            event = None
        if isinstance(event, dict):
            yield cast("Event", event)
        else:
            log.problems.append(f"line {number} of the event log is no whole event: the log was cut short")
            return


def _last_phase(events: list[Event]) -> list[Event]:
    """The events of the last operation: `pulumi up` previews first, and both count from zero."""
    starts = [index for index, event in enumerate(events) if event.get("sequence") == 0]
    return events[starts[-1] :] if starts else events


def _take(events: list[Event], log: Log) -> None:
    messages: list[str] = []
    errors: list[str] = []
    result: str | None = None
    foreign: set[str] = set()
    for event in events:
        if diagnostic := event.get("diagnosticEvent"):
            messages.append(str(diagnostic.get("message", "")))
            if diagnostic.get("severity") == "error":
                errors.append(messages[-1].strip())
        elif violation := event.get("policyEvent"):
            _take_violation(violation, log, foreign)
        elif summary := event.get("policyAnalyzeStackSummaryEvent"):
            if summary.get("policyPackName") == PACK:
                log.pack_ran = True
                log.version = summary.get("policyPackVersion", "")
                log.passed |= set(summary.get("passed", ()))
        elif prelude := event.get("preludeEvent"):
            log.profile = prelude.get("config", {}).get(PROFILE, "")
        elif (made := event.get("resourcePreEvent", {}).get("metadata")) and made.get("type") == "pulumi:pulumi:Stack":
            log.stack_urn = made.get("urn", "")
        elif closing := event.get("summaryEvent"):
            result = closing.get("result", "")
            log.time = int(event.get("timestamp", 0))
    _take_records(messages, log)
    _judge(errors, result, foreign, log)


def _take_violation(violation: Event, log: Log, foreign: set[str]) -> None:
    pack, level = violation.get("policyPackName", ""), violation.get("enforcementLevel", "")
    if pack == PACK:
        where, said = violation.get("resourceUrn", ""), str(violation.get("message", "")).strip()
        log.violations.append(Violation(violation.get("policyName", ""), where, level, said))
    elif level == "mandatory":
        foreign.add(pack)


def _take_records(messages: list[str], log: Log) -> None:
    try:
        for each in record.read(messages):
            if isinstance(each, record.EndRecord):
                log.end = each
            elif isinstance(each, Placement):
                log.placement = each
            else:
                log.records[each.rule] = each
    except (ValueError, KeyError, TypeError) as reason:
        log.problems.append(f"the pack's verdicts in the event log cannot be read: {reason}")
    if log.records and log.end is None:
        log.problems.append("the pack's verdicts in the event log have no end: the log was cut short")
    if log.end and log.end.rules != len(log.records):
        log.problems.append(f"the event log has verdicts of {len(log.records)} rules, the pack gave {log.end.rules}")


def _judge(errors: list[str], result: str | None, foreign: set[str], log: Log) -> None:
    reasons = [error for error in errors if not error.lower().startswith(_CONSEQUENCES)]
    log.problems += [f"the preview failed: {reason}" for reason in reasons]
    log.problems += [f"policies of another pack stop the preview: {pack}" for pack in sorted(foreign)]
    if result is None:
        log.problems.append("the event log has no end: the preview was cut short")
    stopped = any(violation.enforcement == "mandatory" for violation in log.violations)
    if result not in (None, "succeeded") and not stopped and not reasons and not foreign:
        log.problems.append(f"the preview ended as '{result}' and does not say why")
    if not log.pack_ran:
        log.problems.append("the policy pack did not judge the stack: no summary of it is in the event log")
