"""Which findings fail an audit, by profile, enforcement level and verdict."""

from __future__ import annotations

import pytest

from audit.result import Audit
from policy.facts.stack_configuration import LAB, PRODUCTION
from policy.findings import Enforcement, Finding, Severity, Verdict


def finding(enforcement: Enforcement, verdict: Verdict) -> Finding:
    return Finding("galera-size", Severity.HIGH, enforcement, verdict, "urn::x", "", "004, 5.3.4", "")


def audit(profile: str, *findings: Finding) -> Audit:
    return Audit("prod", profile, "100", "0.1.0", 0, "2026-11-27", findings, ())


@pytest.mark.parametrize(
    ("profile", "enforcement", "verdict", "passes"),
    [
        (PRODUCTION, Enforcement.MANDATORY, Verdict.FAIL, False),
        (PRODUCTION, Enforcement.MANDATORY, Verdict.NOT_EVALUATED, False),
        (PRODUCTION, Enforcement.ADVISORY, Verdict.FAIL, True),
        # "Could not evaluate" is never a pass, also where a failure would only be advice.
        (PRODUCTION, Enforcement.ADVISORY, Verdict.NOT_EVALUATED, False),
        (PRODUCTION, Enforcement.ADVISORY, Verdict.PASS, True),
        (PRODUCTION, Enforcement.MANDATORY, Verdict.WAIVED, True),
        (LAB, Enforcement.ADVISORY, Verdict.FAIL, True),
        (LAB, Enforcement.ADVISORY, Verdict.NOT_EVALUATED, True),
        (LAB, Enforcement.MANDATORY, Verdict.NOT_EVALUATED, False),
    ],
)
def test_what_fails_an_audit(profile: str, enforcement: Enforcement, verdict: Verdict, passes: bool) -> None:
    made = audit(profile, finding(enforcement, verdict))
    assert made.passed is passes
    assert made.stops(made.findings[0]) is not passes


def test_an_unreliable_audit_has_not_passed() -> None:
    assert not Audit("prod", PRODUCTION, "100", "", 0, "", (), ("the log is not complete",)).passed
