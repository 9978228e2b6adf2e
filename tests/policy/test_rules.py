"""Every case of every rule, read as the analyzer reads the engine's message and through the policy SDK's proxies."""

from __future__ import annotations

import pytest
from pulumi_policy import ReportViolation
from pulumi_policy import policy as sdk

from policy.engine.pack import RulePolicy
from policy.findings import Enforcement, Finding, Verdict, resource_name
from policy.rule import evaluate
from tests.policy.cases import Case
from tests.policy.tables import CASES
from tests.policy.world import facts, sdk_args, stack

NOT_APPLICABLE: type[Exception] = vars(sdk)["_NotApplicableError"]
"""What the SDK raises for a policy that does not apply; it has no public name."""

by_title = pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)


def named(findings: list[Finding], verdict: Verdict) -> set[str]:
    return {resource_name(each.resource) for each in findings if each.verdict is verdict}


@by_title
def test_the_right_resources(case: Case) -> None:
    judged = facts(case.given, case.waivers, case.levels, configured_stack=case.configured_stack).after(case.findings)
    findings = evaluate(case.rule, judged, Enforcement.MANDATORY)
    assert named(findings, Verdict.FAIL) == case.fails, findings
    assert named(findings, Verdict.NOT_EVALUATED) == case.undecided, findings
    assert named(findings, Verdict.PASS) == case.passes, findings
    assert (named(findings, Verdict.NOT_APPLICABLE) != set()) == (case.kinds == frozenset({Verdict.NOT_APPLICABLE}))
    if case.message:
        assert any(case.message in each.message for each in findings), [each.message for each in findings]


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.waivers and not case.levels], ids=lambda case: case.title
)
def test_the_same_through_the_policy_sdk(case: Case) -> None:
    """What the SDK reports are the violations, each with what was seen, expected and to be done.

    It keeps the stack's configuration from a policy: waivers and levels are the analyzer's alone.
    """
    reported: list[tuple[str, str]] = []

    def report(message: str, urn: str | None = None) -> None:
        reported.append((message, urn or ""))

    policy = RulePolicy(case.rule)
    if case.kinds == frozenset({Verdict.NOT_APPLICABLE}):
        with pytest.raises(NOT_APPLICABLE):
            _run(policy, case, report)
    else:
        _run(policy, case, report)
    assert {resource_name(urn) for _, urn in reported} == case.fails | case.undecided
    for message, _ in reported:
        assert f"Fix: {case.rule.remediation}" in message
        assert f"Source: {case.rule.source}" in message
    undecided = {resource_name(urn) for message, urn in reported if message.startswith("not evaluated: ")}
    assert undecided == case.undecided


def _run(policy: RulePolicy, case: Case, report: ReportViolation) -> None:
    policy.validate(sdk_args(case.given), report)  # pyright: ignore[reportUnknownMemberType]


@by_title
def test_the_order_of_resources_does_not_matter(case: Case) -> None:
    """The engine's own is another each time, and a finding must be the same one."""
    one, other = (
        evaluate(case.rule, facts([stack(), *given]), Enforcement.MANDATORY)
        for given in (case.given, reversed(case.given))
    )
    assert {(each.verdict, each.resource) for each in one} == {(each.verdict, each.resource) for each in other}
