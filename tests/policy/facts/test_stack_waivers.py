"""Tests of the effect of a waiver on a finding, and of the findings that no waiver affects."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from formats.waiver import Waiver
from policy.catalogue import BY_ID, RULES, WAIVABLE
from policy.facts import stack_waivers
from policy.facts.stack_waivers import Waivers, read
from policy.findings import Enforcement, Finding, Severity, Verdict
from tests.policy.waivers import changed, written_waiver

TODAY = date(2026, 11, 21)
WRITTEN = {
    "rule": "galera-size",
    "resource": "cloud-openstack-mariadb-mysqld",
    "reason": "a move",
    "owner": "Ada",
    "expires": "2027-01-31",
    "approvedBy": "Grace",
}
GIVEN = written_waiver("galera-size", "cloud-openstack-mariadb-mysqld", "a move", "Ada", date(2027, 1, 31), "Grace")


def finding(
    verdict: Verdict = Verdict.FAIL, rule: str = "galera-size", name: str = "cloud-openstack-mariadb-mysqld"
) -> Finding:
    urn = f"urn:pulumi:prod::quorate::a$b::{name}"
    return Finding(rule, Severity.HIGH, Enforcement.MANDATORY, verdict, urn, "seen", "004, 5.3.13", "fix it")


def applied(found: Finding, *given: Waiver) -> Finding:
    return Waivers(given, on=TODAY, rules=WAIVABLE).apply([found])[0]


def test_a_waived_failure_stops_nothing_and_tells_who_answers_for_it() -> None:
    waived = applied(finding(), GIVEN)
    assert (waived.verdict, waived.waiver, waived.blocks_update) == (Verdict.WAIVED, GIVEN, False)
    assert waived.wording == "waived until 2027-01-31 by Ada, approved by Grace (a move): seen"


@pytest.mark.parametrize("verdict", [Verdict.NOT_EVALUATED, Verdict.PASS, Verdict.NOT_APPLICABLE])
def test_nothing_but_a_failure_can_be_waived(verdict: Verdict) -> None:
    """A rule that could not be evaluated cannot be waived: the accepted failure would be unknown."""
    found = finding(verdict)
    assert applied(found, changed(GIVEN, resource="cloud-*")) == found


@pytest.mark.parametrize(
    ("rule", "resource", "expires", "waives"),
    [
        ("galera-size", "cloud-*", TODAY, True),
        ("galera-size", "*-mysqld", TODAY, True),
        ("galera-size", "cloud-mysql", TODAY, False),
        ("galera-size", "Cloud-mysqld", TODAY, False),
        ("galera-size", "*b::cloud-openstack-mariadb-mysqld", TODAY, False),
        ("rabbitmq-size", "cloud-*", TODAY, False),
        ("galera-size", "cloud-*", date(2026, 11, 20), False),
        ("galera-size", "cloud-*", TODAY + timedelta(days=180), True),
        ("galera-size", "cloud-*", TODAY + timedelta(days=181), False),
        ("galera-size", "*", TODAY, False),
        ("galera-size", "*-*", TODAY, False),
        ("galera-size", "[!x]*", TODAY, False),
        ("galera-size", "[a-z]*cl*", TODAY, False),
    ],
)
def test_rule_name_and_day_must_fit(rule: str, resource: str, expires: date, *, waives: bool) -> None:
    waived = applied(finding(), written_waiver(rule, resource, "a move", "Ada", expires, "Grace"))
    assert (waived.verdict is Verdict.WAIVED) == waives


@pytest.mark.parametrize(
    ("waiver", "reason"),
    [
        (changed(GIVEN, expires=date(2026, 11, 20)), "expired, a failure again since 2026-11-21"),
        (changed(GIVEN, approved_by=""), "the rule is critical and no second person approved the waiver"),
        (changed(GIVEN, approved_by="ada "), "'ada ' is the owner as well"),
        (changed(GIVEN, resource="*"), "the pattern '*' matches resources of any kind"),
        (changed(GIVEN, expires=date(2027, 6, 1)), "2027-06-01 is 192 days from today"),
    ],
)
def test_a_failure_tells_why_its_waiver_has_no_effect(waiver: Waiver, reason: str) -> None:
    found = applied(finding(), waiver)
    assert found.verdict is Verdict.FAIL
    assert found.message == f"seen (the waiver of Ada has no effect: {reason})"


def test_only_a_critical_rule_needs_a_second_person() -> None:
    waiver = written_waiver("instances-match-row", "cloud-*", "a move", "Ada", date(2027, 1, 31))
    assert applied(finding(rule="instances-match-row"), waiver).verdict is Verdict.WAIVED


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if not rule.waivable])
def test_a_rule_about_the_gate_cannot_be_waived(rule: str) -> None:
    """A waiver for a rule about waivers has no effect."""
    given = changed(GIVEN, rule=rule, resource="quorate-prod")
    found = applied(finding(rule=rule, name="quorate-prod"), given)
    assert found.verdict is Verdict.FAIL
    assert f"{rule} cannot be waived" in found.message


def test_an_expired_waiver_does_not_stand_before_one_that_holds() -> None:
    expired = changed(GIVEN, expires=date(2020, 1, 1))
    assert applied(finding(), expired, GIVEN).waiver == GIVEN


def test_it_is_read_as_the_engine_hands_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_waivers, "today", lambda: TODAY)
    found = read(json.dumps([WRITTEN]), WAIVABLE)
    assert found.entries == (GIVEN,)
    assert found.on == TODAY
    assert read(None, WAIVABLE).entries == ()
    unquoted = {**WRITTEN, "expires": "2027-01-31 00:00:00 +0000 UTC"}
    assert read(json.dumps([unquoted]), WAIVABLE).entries == (GIVEN,), "the engine's form of a date without quotes"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "quorate:waivers cannot be read"),
        (json.dumps([{**WRITTEN, "expires": "soon"}]), "quorate:waivers[0].expires cannot be read"),
        (json.dumps([WRITTEN, {**WRITTEN, "owner": " "}]), "quorate:waivers[1].owner cannot be read"),
    ],
)
def test_what_cannot_be_read_waives_nothing(text: str, reason: str) -> None:
    found = read(text, WAIVABLE)
    assert found.apply([finding()])[0].verdict is Verdict.FAIL
    with pytest.raises(ValueError, match=reason.replace("[", r"\[").replace("]", r"\]")):
        _ = found.entries


def test_rules_about_waivers_are_no_rules_to_waive() -> None:
    about_waivers = {rule for rule in BY_ID if rule.startswith("waiver-")}
    assert len(about_waivers) == 5
    assert not about_waivers & WAIVABLE.keys()
