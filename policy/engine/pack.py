"""Provides the rules as policies of Pulumi's policy SDK: one stack policy for each rule, named by the rule's id.

The SDK can run each policy alone. analyzer.py evaluates all policies on one set of facts, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulumi_policy import (
    EnforcementLevel,
    PolicyComplianceFramework,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from policy.catalogue import RULES
from policy.engine.decode import from_sdk
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement, Finding, Verdict
from policy.rule import AnyRule, evaluate

NAME = "quorate"
DESCRIPTION = "Placement and quorum rules of the reference architectures, evaluated on the resources alone"
PAGE = "docs/rules.md"


class RulePolicy(StackValidationPolicy):
    """A rule as a stack policy. Its enforcement level is that for production until `enforce` sets another profile."""

    def __init__(self, rule: AnyRule) -> None:
        first = rule.sources[0]
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            name=rule.id,
            description=rule.title,
            validate=self._validate,
            enforcement_level=_level(rule, PRODUCTION),
            display_name=rule.title,
            severity=Severity(rule.severity.value),
            framework=PolicyComplianceFramework(
                name="Fuel-CCP reference architectures", reference=rule.source, specification=str(first)
            ),
            remediation_steps=rule.remediation,
            url=f"{PAGE}#{rule.id}",
        )
        self.rule = rule

    def enforce(self, profile: str) -> None:
        """Sets the enforcement level that the rule has in a profile."""
        self.enforcement_level = _level(self.rule, profile)

    def _validate(self, args: StackValidationArgs, report: ReportViolation) -> None:
        facts = Facts(from_sdk(resource) for resource in args.resources)
        findings = evaluate(self.rule, facts, Enforcement.MANDATORY)
        report_findings(findings, lambda _level: report)
        if not_applicable := reason_not_applicable(findings):
            args.not_applicable(not_applicable)


def _level(rule: AnyRule, profile: str) -> EnforcementLevel:
    return EnforcementLevel(rule.enforced(profile).value)


def report_findings(findings: Sequence[Finding], at: Callable[[Enforcement], ReportViolation]) -> None:
    """Reports violations and waived failures to Pulumi, with remediation and source. Passed resources are not reported.

    `at`: returns the function that reports at an enforcement level. A waived failure is reported as advisory.
    """
    for finding in findings:
        if finding.verdict.reported:
            waived = finding.verdict is Verdict.WAIVED
            report = at(Enforcement.ADVISORY if waived else finding.enforcement)
            lines = (finding.wording, f"Fix: {finding.remediation}", f"Source: {finding.source}")
            report("\n".join(lines), finding.resource or None)


def reason_not_applicable(findings: Sequence[Finding]) -> str | None:
    """Returns why a rule does not apply to the stack, from the rule's findings; None if it applies."""
    reasons = [finding.message for finding in findings if finding.verdict is Verdict.NOT_APPLICABLE]
    return reasons[0] if reasons else None


def policies() -> list[RulePolicy]:
    """Returns the policies of the pack, one for each rule."""
    return [RulePolicy(rule) for rule in RULES]
