"""Tests that a rule that cannot be evaluated has not passed, and that all other resources are still evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

import contract
from policy.catalogue import RULES
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.facts.stack_configuration import StackConfiguration
from policy.findings import Enforcement, Finding, Severity, Verdict, resource_name
from policy.rule import NO_ARCHITECTURE, AnyRule, Rule, RuleProblem, RuleSource, evaluate, rule
from policy.rules.instances import instances_match_row
from tests.policy.world import UNKNOWN, Given, cloud, facts, stack, whole_stack, workload

GIVEN = [stack(), workload("good"), workload("bad", replicas=1), workload("odd", replicas=0)]


def made(subjects: object = None) -> Rule[Workload]:
    """A rule with a fault of its own for workloads without replicas."""

    def all_workloads(judged: Facts) -> Iterable[Workload]:
        if isinstance(subjects, Exception):
            raise subjects
        return judged.workloads

    @rule(
        id="test-rule",
        title="Workloads have replicas",
        severity=Severity.HIGH,
        rationale="",
        sources=[RuleSource("004", "5.4.16", 2)],
        remediation="Have more.",
        subjects=all_workloads,
        not_applicable_reason="the stack has no workload",
    )
    def check(_facts: Facts, each: Workload) -> Iterator[RuleProblem]:
        if 6 // (each.replicas or 0) != 2:
            yield RuleProblem(f"{each.replicas} replicas", "3")

    return check


def verdicts(given: Iterable[Given], judged: Rule[Workload]) -> dict[str, tuple[Verdict, str]]:
    findings = evaluate(judged, facts(given), Enforcement.MANDATORY)
    return {resource_name(each.resource): (each.verdict, each.message) for each in findings}


def test_a_rule_that_compares_with_an_architecture_says_that_there_is_none() -> None:
    for given, reason in (
        (GIVEN[:1], NO_ARCHITECTURE),
        ([stack(), cloud()], instances_match_row.not_applicable_reason),
    ):
        (finding,) = evaluate(instances_match_row, facts(given), Enforcement.MANDATORY)
        assert (finding.verdict, finding.message) == (Verdict.NOT_APPLICABLE, reason)


def test_every_rule_that_lacks_an_architecture_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rules that would find something with one."""

    def finding(each: AnyRule, judged: Facts) -> Finding:
        return evaluate(each, judged, Enforcement.MANDATORY)[0]

    whole = list(whole_stack())
    named, nameless = facts(whole), facts(each for each in whole if each.type != contract.CLOUD)
    lacking = [each for each in RULES if finding(each, named).verdict is not Verdict.NOT_APPLICABLE]
    looked: list[Facts] = []
    monkeypatch.setattr(Facts, "architecture", property(looked.append))
    silent: list[str] = []
    for each in lacking:
        looked.clear()
        found = finding(each, nameless)
        if looked and found.verdict is Verdict.NOT_APPLICABLE and found.message != NO_ARCHITECTURE:
            silent.append(each.id)
    assert silent == []


def test_a_stack_without_a_cloud_names_its_architecture_in_its_configuration() -> None:
    for name in ("100", "blueprint/architecture/100.yaml"):
        judged = Facts(facts([stack()]).resources, StackConfiguration(architecture=name))
        assert judged.required_architecture.name == "100"


def test_one_subject_does_not_hide_another() -> None:
    assert verdicts(GIVEN, made()) == {
        "good": (Verdict.PASS, "Deployment good"),
        "bad": (Verdict.FAIL, "Deployment bad: 1 replicas; expected 3"),
        "odd": (
            Verdict.NOT_EVALUATED,
            "Deployment odd: the rule failed with ZeroDivisionError: integer division or modulo by zero",
        ),
    }


def test_an_unknown_value_names_resource_and_property() -> None:
    unknown = workload("new", replicas=UNKNOWN)
    verdict, message = verdicts([stack(), unknown], made())["new"]
    assert verdict is Verdict.NOT_EVALUATED
    assert message == "Deployment new: spec.replicas of new cannot be known in this preview"


def test_an_unknown_value_that_nobody_needs_does_no_harm() -> None:
    given = workload("good").but(metadata__uid=UNKNOWN, spec__template__spec__containers=UNKNOWN)
    assert verdicts([given], made())["good"][0] is Verdict.PASS


def test_unknown_subjects_are_not_no_subjects() -> None:
    verdict, message = verdicts([stack()], made(LookupError("lost")))["quorate-test"]
    assert verdict is Verdict.NOT_EVALUATED
    assert message == "its subjects are not known: the rule failed with LookupError: lost"


def test_no_subjects() -> None:
    assert verdicts([stack()], made()) == {"quorate-test": (Verdict.NOT_APPLICABLE, "the stack has no workload")}


def test_a_finding_says_where_it_comes_from() -> None:
    finding = evaluate(made(), facts(GIVEN), Enforcement.ADVISORY)[1]
    assert (finding.rule, finding.severity, finding.source) == ("test-rule", Severity.HIGH, "004, 5.4.16 (2)")
    assert (finding.enforcement, finding.remediation, finding.blocks_update) == (
        Enforcement.ADVISORY,
        "Have more.",
        False,
    )
