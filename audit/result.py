"""The audit: every rule of the pack with what it said, and the verdict on the stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from audit.log import Log
from policy.catalogue import BY_ID, RULES
from policy.facts.placement_map import Placement
from policy.facts.stack import PRODUCTION
from policy.findings import Enforcement, Finding, Verdict, Waiver
from policy.rule import AnyRule

VERSION = 2
"""Of findings.json; a change that a reader could trip over raises it."""

_UNDECIDED = "not evaluated: "
_WAIVED = "waived until "
_ORDER = (Verdict.FAIL, Verdict.NOT_EVALUATED, Verdict.WAIVED, Verdict.PASS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True)
class Audit:
    """What the rules say of a stack."""

    stack: str
    profile: str
    architecture: str
    pack: str
    """The pack's version."""
    time: int
    """When the preview ended, in seconds since 1970; 0 where the log does not say."""
    today: str
    """The day by which waivers were judged; empty where the log does not say."""
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]
    """Why the audit itself cannot be believed."""
    placement: Placement | None = None
    """What may run where; None where the log does not say."""

    def of(self, rule: AnyRule) -> list[Finding]:
        """The findings of one rule."""
        return [finding for finding in self.findings if finding.rule == rule.id]

    def verdict_of(self, rule: AnyRule) -> Verdict:
        """The rule as a whole: its worst finding."""
        said = {finding.verdict for finding in self.of(rule)}
        return next(verdict for verdict in _ORDER if verdict in said)

    @property
    def violations(self) -> list[Finding]:
        """Failed and not evaluated, the gravest first."""
        found = [finding for finding in self.findings if finding.verdict.is_violation]
        return sorted(found, key=lambda each: (not self.stops(each), each.severity.rank))

    @property
    def waived(self) -> list[Finding]:
        """Failures that somebody answers for, the first to expire first."""
        found = [finding for finding in self.findings if finding.verdict is Verdict.WAIVED]
        return sorted(found, key=lambda each: each.waiver.expires if each.waiver else date.max)

    def stops(self, finding: Finding) -> bool:
        """Whether a finding fails the audit: in production, what could not be evaluated does so as well."""
        undecided = finding.verdict is Verdict.NOT_EVALUATED and self.profile == PRODUCTION
        return finding.blocks_update or undecided

    @property
    def passed(self) -> bool:
        """The verdict on the stack."""
        return not self.problems and not any(self.stops(finding) for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """As findings.json has it (schemas/findings.schema.json)."""
        return {
            "version": VERSION,
            "stack": self.stack,
            "profile": self.profile,
            "architecture": self.architecture,
            "generatedBy": {"name": "quorate", "version": self.pack, "time": self.time},
            "today": self.today,
            "summary": self._summary(),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def _summary(self) -> dict[str, Any]:
        findings = Counter(finding.verdict for finding in self.findings)
        rules = Counter(self.verdict_of(rule) for rule in RULES)
        return {
            "verdict": "pass" if self.passed else "fail",
            "problems": list(self.problems),
            "rules": {str(verdict): rules[verdict] for verdict in Verdict},
            "findings": {str(verdict): findings[verdict] for verdict in Verdict},
        }


def audit(stack: str, log: Log) -> Audit:
    """The audit of a stack from an event log."""
    profile = (log.end.profile if log.end else log.phase.profile) or PRODUCTION
    findings = [finding for rule in RULES for finding in sorted(_said(rule, log, rule.enforced(profile)), key=_place)]
    architecture = log.end.architecture if log.end else ""
    problems = (*log.problems, *_contradictions(log))
    today = log.end.today if log.end else ""
    pack = log.pack.version if log.pack else ""
    time = log.phase.end.time if log.phase.end else 0
    return Audit(stack, profile, architecture, pack, time, today, tuple(findings), problems, log.placement)


def _place(finding: Finding) -> tuple[int, str, str]:
    return _ORDER.index(finding.verdict), finding.resource, finding.message


def _said(rule: AnyRule, log: Log, level: Enforcement) -> Iterator[Finding]:
    """What a rule said: by the pack's own record where the log has it, else by the engine's events alone.

    `level` is for what no event says one of.
    """

    def found(
        verdict: Verdict, enforcement: Enforcement, resource: str, message: str, waiver: Waiver | None = None
    ) -> Finding:
        told = (resource, message, rule.source, rule.remediation, waiver)
        return Finding(rule.id, rule.severity, enforcement, verdict, *told)

    if recorded := log.records.get(rule.id):
        for each in recorded.verdicts:
            yield found(each.verdict, recorded.enforcement, each.resource, each.message, each.waiver)
        return
    reported = [violation for violation in log.violations if violation.rule == rule.id]
    for violation in reported:
        level = Enforcement(violation.enforcement)
        yield found(_verdict(violation.message), level, violation.resource, _told(violation.message))
    if reported:
        return
    if log.pack and rule.id in log.pack.passed and not log.recorded:
        yield found(Verdict.PASS, level, log.phase.stack_urn, "the stack, as the engine reports it")
    else:
        yield found(Verdict.NOT_EVALUATED, level, log.phase.stack_urn, "the rule is in no event of the engine")


def _verdict(message: str) -> Verdict:
    if _told(message).startswith(_WAIVED):
        return Verdict.WAIVED
    undecided = _UNDECIDED in message or "can't run policy" in message
    return Verdict.NOT_EVALUATED if undecided else Verdict.FAIL


def _told(message: str) -> str:
    """The line that says what was seen, out of the engine's message: title, finding, fix, source."""
    lines = message.splitlines()
    return (lines[1] if len(lines) > 1 else message).removeprefix(_UNDECIDED)


def _contradictions(log: Log) -> Iterator[str]:
    """Where the engine's events and the pack's record say different things, neither can be believed."""
    reported = Counter(violation.rule for violation in log.violations)
    for rule in sorted(reported.keys() - BY_ID.keys()):
        yield f"the engine reports a rule that this pack does not have: {rule}"
    if not log.recorded:
        return
    for rule in sorted(log.records.keys() - BY_ID.keys()):
        yield f"the event log is of another pack: it has verdicts of the rule {rule}"
    for rule in RULES:
        recorded = log.records.get(rule.id)
        count = sum(each.verdict.reported for each in recorded.verdicts) if recorded else 0
        if count != reported[rule.id]:
            yield f"{rule.id}: the engine reports {reported[rule.id]} violations, the pack's record has {count}"
