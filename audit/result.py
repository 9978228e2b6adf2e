"""Builds the audit of a stack from an event log: the findings of every policy rule, and the verdict on the stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from audit import losses
from audit.log import Log
from policy.catalogue import BY_ID, RULES
from policy.facts.known_types import Coverage, total
from policy.facts.placement.placement_map import PlacementMap
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement, Finding, Severity, Verdict
from policy.rule import AnyRule

if TYPE_CHECKING:
    from formats.waiver import Waiver

VERSION = 4
"""Version of findings.json, raised with every incompatible change of its format."""

_UNDECIDED = "not evaluated: "
_WAIVED = "waived until "
_ORDER = (Verdict.FAIL, Verdict.NOT_EVALUATED, Verdict.WAIVED, Verdict.PASS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True)
class Audit:
    """The findings of all rules on one stack."""

    stack: str
    profile: str
    architecture: str
    pack: str
    """Version of the policy pack; "" if the log does not contain it."""
    time: int
    """When the preview ended, in seconds since 1970; 0 if the log has no time."""
    today: str
    """The date on which waivers were checked for expiry; empty without the pack's record."""
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]
    """Reasons why the audit is unreliable; empty if it is reliable."""
    placement: PlacementMap | None = None
    """The nodes that may run each workload; None without the pack's record."""
    coverage: Mapping[str, Coverage] = field(default_factory=dict[str, Coverage])
    """How many resources were evaluated, only read, harmless or unknown, by type; empty without the pack's record."""

    def of(self, rule: AnyRule) -> list[Finding]:
        """Returns the findings of one rule."""
        return [finding for finding in self.findings if finding.rule == rule.id]

    def verdict_of(self, rule: AnyRule) -> Verdict:
        """Returns the verdict of a rule: the most severe verdict among its findings."""
        return most_severe(finding.verdict for finding in self.of(rule))

    @property
    def rules(self) -> list[AnyRule]:
        """All rules, sorted by verdict: failed, not evaluated, waived, passed, not applicable; then by severity."""
        return sorted(RULES, key=lambda rule: _rank(self.verdict_of(rule), rule.severity))

    @property
    def violations(self) -> list[Finding]:
        """Findings that failed or were not evaluated: those that block an update first, then by severity."""
        found = [finding for finding in self.findings if finding.verdict.is_violation]
        return sorted(found, key=lambda each: (not self.stops(each), each.severity.rank))

    @property
    def waived(self) -> list[Finding]:
        """Waived failures, by expiry date."""
        found = [finding for finding in self.findings if finding.verdict is Verdict.WAIVED]
        return sorted(found, key=lambda each: each.waiver.expires if each.waiver else date.max)

    def stops(self, finding: Finding) -> bool:
        """Whether a finding fails the audit: a violation of a mandatory rule, or in production any unevaluated rule."""
        undecided = finding.verdict is Verdict.NOT_EVALUATED and self.profile == PRODUCTION
        return finding.blocks_update or undecided

    @property
    def passed(self) -> bool:
        """Whether the audit is reliable and no finding fails it."""
        return not self.problems and not any(self.stops(finding) for finding in self.findings)

    @property
    def resources(self) -> Coverage:
        """How many resources of all types were evaluated, only read, harmless or unknown."""
        return total(self.coverage)

    def to_json(self) -> dict[str, Any]:
        """Returns the audit in the format of findings.json (schemas/findings.schema.json)."""
        return {
            "version": VERSION,
            "stack": self.stack,
            "profile": self.profile,
            "architecture": self.architecture,
            "generatedBy": {"name": "quorate", "version": self.pack, "time": self.time},
            "today": self.today,
            "summary": self._summary(),
            "sources": {rule.id: [source.to_json() for source in rule.sources] for rule in RULES},
            "findings": [finding.to_json() for finding in self.findings],
            "losses": losses.to_json(self.placement) if self.placement else [],
        }

    def _summary(self) -> dict[str, Any]:
        findings = Counter(finding.verdict for finding in self.findings)
        rules = Counter(self.verdict_of(rule) for rule in RULES)
        return {
            "verdict": "pass" if self.passed else "fail",
            "problems": list(self.problems),
            "rules": {str(verdict): rules[verdict] for verdict in Verdict},
            "findings": {str(verdict): findings[verdict] for verdict in Verdict},
            "resources": vars(self.resources),
            "types": {type_: vars(counts) for type_, counts in self.coverage.items()},
        }


def most_severe(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the most severe of one or more verdicts."""
    given = set(verdicts)
    return next(verdict for verdict in _ORDER if verdict in given)


def _rank(verdict: Verdict, severity: Severity) -> tuple[int, int]:
    """Sort key for rules: verdict, then severity. Passed and not applicable rules keep the order of the catalogue."""
    return _ORDER.index(verdict), severity.rank if verdict.reported else 0


def audit(stack: str, log: Log) -> Audit:
    """Builds the audit of a stack from an event log of its preview."""
    made = log.record
    profile = (made.profile if made else log.phase.profile) or PRODUCTION
    findings = (
        finding for rule in RULES for finding in sorted(_findings(rule, log, rule.enforced(profile)), key=_place)
    )
    return Audit(
        stack,
        profile,
        architecture=made.architecture if made else "",
        pack=log.pack.version if log.pack else "",
        time=log.phase.end.time if log.phase.end else 0,
        today=made.today if made else "",
        findings=tuple(findings),
        problems=(*log.problems, *_contradictions(log)),
        placement=made.placement if made else None,
        coverage=made.coverage if made else {},
    )


def _place(finding: Finding) -> tuple[int, str, str]:
    return _ORDER.index(finding.verdict), finding.resource, finding.message


def _findings(rule: AnyRule, log: Log, level: Enforcement) -> Iterator[Finding]:
    """Yields the findings of a rule: from the policy pack's record if there is one, otherwise from Pulumi's events.

    `level`: the enforcement level of a finding for which the log has none.
    """

    def found(
        verdict: Verdict, enforcement: Enforcement, resource: str, message: str, waiver: Waiver | None = None
    ) -> Finding:
        details = (resource, message, rule.source, rule.remediation, waiver)
        return Finding(rule.id, rule.severity, enforcement, verdict, *details)

    if recorded := log.record and log.record.by_rule.get(rule.id):
        for each in recorded.verdicts:
            yield found(each.verdict, recorded.enforcement, each.resource, each.message, each.waiver)
        return
    reported = [violation for violation in log.violations if violation.rule == rule.id]
    for violation in reported:
        level = Enforcement(violation.enforcement)
        yield found(_verdict(violation.message), level, violation.resource, _finding_line(violation.message))
    if reported:
        return
    if log.pack and rule.id in log.pack.passed and log.record is None:
        yield found(Verdict.PASS, level, log.phase.stack_urn, "the stack, according to the engine's summary")
    else:
        message = "neither the policy pack's record nor the event log has a verdict of the rule"
        yield found(Verdict.NOT_EVALUATED, level, log.phase.stack_urn, message)


def _verdict(message: str) -> Verdict:
    if _finding_line(message).startswith(_WAIVED):
        return Verdict.WAIVED
    undecided = _UNDECIDED in message or "can't run policy" in message
    return Verdict.NOT_EVALUATED if undecided else Verdict.FAIL


def _finding_line(message: str) -> str:
    """Returns the finding in the message of a policy violation, whose lines are title, finding, fix and source."""
    lines = message.splitlines()
    return (lines[1] if len(lines) > 1 else message).removeprefix(_UNDECIDED)


def _contradictions(log: Log) -> Iterator[str]:
    """Yields differences between Pulumi's events and the policy pack's record, which make the audit unreliable."""
    reported = Counter(violation.rule for violation in log.violations)
    for rule in sorted(reported.keys() - BY_ID.keys()):
        yield f"the engine reports a rule that is not in this pack: {rule}"
    if log.record is None:
        return
    for rule in sorted(log.record.by_rule.keys() - BY_ID.keys()):
        yield f"the record belongs to another pack: it has verdicts of the rule {rule}"
    for rule in RULES:
        recorded = log.record.by_rule.get(rule.id)
        count = sum(each.verdict.reported for each in recorded.verdicts) if recorded else 0
        if count != reported[rule.id]:
            yield f"{rule.id}: the engine reports {reported[rule.id]} violations, the pack's record has {count}"
