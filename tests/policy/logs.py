"""Event logs as the engine writes them, for tests of the report that need no engine.

test_engine_report.py keeps them honest: it reads the log of a real preview.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from policy.catalogue import RULES, WAIVABLE
from policy.engine import record
from policy.facts import placement_map
from policy.facts.known_types import coverage
from policy.facts.stack_waivers import Waivers
from policy.findings import Finding, Verdict, Waiver
from policy.rule import evaluate
from tests.policy.world import Given, facts, stack

Event = dict[str, Any]

TODAY = date(2026, 11, 21)


def log_of(
    given: Iterable[Given], profile: str = "production", *waived: Waiver, with_record: bool = True
) -> list[Event]:
    """The events of a preview of these resources, in a stack with these waivers."""
    judged = facts(given, Waivers(waived, on=TODAY, rules=WAIVABLE), profile=profile)
    said = {rule.id: judged.waivers.apply(evaluate(rule, judged, rule.enforced(profile))) for rule in RULES}
    events = [
        _event(preludeEvent={"config": {"quorate:profile": profile}}),
        _event(resourcePreEvent={"metadata": {"type": "pulumi:pulumi:Stack", "urn": stack().urn}}),
        debug("registering resource"),
    ]
    if with_record:
        written = ((rule, findings[0].enforcement, findings) for rule, findings in said.items())
        events.append(debug(record.written_rules(written)))
        events.append(debug(record.written_placement(placement_map.read(judged))))
        verdicts = [each for findings in said.values() for each in findings]
        evaluated = {each.resource for each in verdicts if each.verdict is not Verdict.NOT_APPLICABLE}
        counts = coverage(judged.resources, evaluated)
        events.append(
            debug(record.written_end(record.EndRecord(len(said), 9, profile, "100", TODAY.isoformat(), counts)))
        )
    for findings in said.values():
        events += [_violation(finding) for finding in findings if finding.verdict.reported]
    events.append(_event(policyAnalyzeStackSummaryEvent=_pack_summary(said)))
    stopped = any(finding.blocks_update for findings in said.values() for finding in findings)
    if stopped:
        events.append(error("preview failed"))
    events.append(_event(summaryEvent={"isPreview": True, "result": "failed" if stopped else "succeeded"}))
    return [{"sequence": number, **event} for number, event in enumerate(events)]


def debug(message: str) -> Event:
    return _event(diagnosticEvent={"severity": "debug", "message": message + "\n"})


def error(message: str) -> Event:
    return _event(diagnosticEvent={"severity": "error", "message": message + "\n"})


def written(events: Iterable[Event], path: Path) -> Path:
    """Writes an event log to a file, and returns the path."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
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
