"""Event logs and records as the engine and the policy pack write them, for tests of the report that need no engine.

test_engine_report.py keeps them honest: it reads the log of a real preview.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from formats.waiver import Waiver
from policy.catalogue import RULES, WAIVABLE
from policy.engine import record
from policy.engine.record import Record, recorded
from policy.evaluation import evaluate_all
from policy.facts.known_types import coverage
from policy.facts.levels import RuleLevel
from policy.facts.placement import placement_map
from policy.facts.stack_waivers import Waivers
from policy.findings import Finding, Verdict
from tests.policy.world import Given, facts, stack

Event = dict[str, Any]

TODAY = date(2026, 11, 21)


class Run(list[Event]):
    """The events of a run, with the policy pack's record; a list made of them has no record."""

    record: Record | None = None

    def but(self, events: Iterable[Event]) -> Run:
        """Returns a run with these events and the same record."""
        other = Run(events)
        other.record = self.record
        return other


def log_of(given: Iterable[Given], profile: str = "production", *waived: Waiver, with_record: bool = True) -> Run:
    """The events and the record of a preview of these resources, in a stack with these waivers."""
    levels = [RuleLevel(rule.id, rule.enforcement, rule.enforced(profile)) for rule in RULES]
    judged = facts(given, Waivers(waived, on=TODAY, rules=WAIVABLE), levels, profile)
    said = evaluate_all([(rule, rule.enforced(profile)) for rule in RULES], judged)
    events = [
        _event(preludeEvent={"config": {"quorate:profile": profile}}),
        _event(resourcePreEvent={"metadata": {"type": "pulumi:pulumi:Stack", "urn": stack().urn}}),
        debug("registering resource"),
    ]
    for findings in said.values():
        events += [_violation(finding) for finding in findings if finding.verdict.reported]
    events.append(_event(policyAnalyzeStackSummaryEvent=_pack_summary(said)))
    stopped = any(finding.blocks_update for findings in said.values() for finding in findings)
    if stopped:
        events.append(error("preview failed"))
    events.append(_event(summaryEvent={"isPreview": True, "result": "failed" if stopped else "succeeded"}))
    run = Run({"sequence": number, **event} for number, event in enumerate(events))
    if with_record:
        verdicts = [each for findings in said.values() for each in findings]
        evaluated = {each.resource for each in verdicts if each.verdict is not Verdict.NOT_APPLICABLE}
        rules = tuple(recorded(rule, findings[0].enforcement, findings) for rule, findings in said.items())
        counts = coverage(judged.resources, evaluated)
        run.record = Record(rules, placement_map.read(judged), profile, "100", TODAY.isoformat(), counts)
    return run


def debug(message: str) -> Event:
    return _event(diagnosticEvent={"severity": "debug", "message": message + "\n"})


def error(message: str) -> Event:
    return _event(diagnosticEvent={"severity": "error", "message": message + "\n"})


def written(events: Iterable[Event], path: Path) -> Path:
    """Writes an event log to a file, and its record, if there is one, beside it. Returns the path of the log."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    beside = path.with_name(record.FILE)
    beside.unlink(missing_ok=True)
    if isinstance(events, Run) and events.record:
        record.write(events.record, beside)
    return path


def _event(**event: Any) -> Event:
    return {"timestamp": 1795266309, **event}


def _violation(finding: Finding) -> Event:
    level = "advisory" if finding.verdict is Verdict.WAIVED else finding.enforcement.value
    title = next(rule.title for rule in RULES if rule.id == finding.rule)
    message = f"{title}\n{finding.wording}\nFix: {finding.remediation}\nSource: {finding.source}\n"
    return _event(
        policyEvent={
            "resourceUrn": finding.resource,
            "message": message,
            "policyName": finding.rule,
            "policyPackName": "quorate",
            "enforcementLevel": level,
        }
    )


def _pack_summary(said: dict[str, list[Finding]]) -> dict[str, Any]:
    failed = [rule for rule, findings in said.items() if any(finding.verdict.reported for finding in findings)]
    silent = [rule for rule, findings in said.items() if findings[0].verdict is Verdict.NOT_APPLICABLE]
    passed = sorted(said.keys() - {*failed, *silent})
    return {"policyPackName": "quorate", "policyPackVersion": "0.1.0", "passed": passed, "failed": failed}
