"""Rules for which one resource is enough: alone they find what they find in the whole stack, in an update only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta

import pytest
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi_policy import EnforcementLevel

import contract
from formats.waiver_limits import today
from policy.catalogue import RULES
from policy.engine.analyzer import Analyzer
from policy.engine.pack import policies
from policy.facts.machines.host_commands import PLACING
from policy.findings import Enforcement, Verdict
from policy.rule import AnyRule, evaluate
from tests.policy.cases import Case
from tests.policy.engine.test_analyzer import CONTEXT
from tests.policy.tables import CASES
from tests.policy.tables.commands import copied, ssh
from tests.policy.world import Given, cloud, etcd, facts, message, quorum, stack, workload

SINGLE = [rule for rule in RULES if rule.single]
OF_SINGLE = [case for case in CASES if case.rule.single]
FLOATING = workload("app", image="busybox")


def verdicts(rule: AnyRule, given: Iterable[Given], urn: str) -> list[tuple[Verdict, str]]:
    found = evaluate(rule, facts(given), Enforcement.MANDATORY)
    applicable = [each for each in found if each.verdict is not Verdict.NOT_APPLICABLE]
    return sorted((each.verdict, each.message) for each in applicable if each.resource == urn)


@pytest.mark.parametrize("case", OF_SINGLE, ids=lambda case: case.title)
def test_one_resource_is_enough(case: Case) -> None:
    """Alone, or with what was asked about before and is kept: the Cloud, and what places files on machines."""
    kept = [each for each in case.given if each.type in (contract.CLOUD, *PLACING)]
    for each in case.given:
        if case.rule.is_enough(each.type):
            context = [other for other in kept if other is not each]
            alone = verdicts(case.rule, [stack(), *context, each], each.urn)
            assert alone == verdicts(case.rule, case.given, each.urn), each.name


@pytest.mark.parametrize("rule", SINGLE, ids=lambda rule: rule.id)
def test_a_failure_is_found_before_its_resource_is_created(rule: AnyRule) -> None:
    failing = [each for case in OF_SINGLE if case.rule is rule for each in case.given if each.name in case.fails]
    assert any(rule.is_enough(each.type) for each in failing), "no failing case has a resource of these types"


def analyzed(*given: Given, dry_run: bool = False, server: Analyzer | None = None, **config: object) -> list[str]:
    """Returns the rules that stop the creation of the last of these resources."""
    analyzer = server or Analyzer("quorate", "0.1.0", list(policies()), EnforcementLevel.MANDATORY)
    written = {
        f"quorate:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in config.items()
    }
    analyzer.ConfigureStack(
        messages.AnalyzerStackConfigureRequest(stack="test", dry_run=dry_run, config=written), CONTEXT
    )
    response = messages.AnalyzeResponse()
    for each in given:
        request = messages.AnalyzeRequest(type=each.type, urn=each.urn, name=each.name, properties=message(each.props))
        response = analyzer.Analyze(request, CONTEXT)
    assert {each.enforcementLevel for each in response.diagnostics} <= {messages.EnforcementLevel.MANDATORY}
    assert {each.urn for each in response.diagnostics} <= {given[-1].urn}
    return [each.policyName for each in response.diagnostics]


def test_an_update_stops_before_the_resource() -> None:
    assert analyzed(FLOATING) == ["no-floating-tag"]
    assert analyzed(etcd("m1", "m2")) == ["etcd-size"]


def test_a_preview_says_nothing_twice() -> None:
    assert analyzed(FLOATING, dry_run=True) == []


def test_advice_is_left_to_the_evaluation_of_the_stack() -> None:
    assert analyzed(FLOATING, profile="lab") == []


def test_a_sound_resource_and_one_that_needs_the_stack_pass() -> None:
    assert analyzed(quorum(replicas=2)) == []


def test_the_cloud_is_kept_for_the_resources_after_it() -> None:
    """Which access a service needs is found by its row, and the row in the architecture that the Cloud names."""
    agent = workload("agent", "DaemonSet", row="neutron-l2-agent", labels={"app": "x"}, image="registry/x:1")
    agent = agent.but(spec__template__spec__hostNetwork=True)
    assert analyzed(agent) == ["host-access-where-needed"]
    assert analyzed(cloud(), agent) == []


def test_scripts_are_kept_for_the_commands_after_them() -> None:
    run = ssh("m1", "sh /opt/roll.sh")
    assert analyzed(run) == ["command-asks-quorum"]
    assert analyzed(copied("script", "systemctl stop etcd", "m1"), run) == ["command-asks-quorum"]
    assert analyzed(copied("script", "systemctl status etcd", "m1"), run) == []


def test_a_waiver_counts() -> None:
    waiver = {"rule": "no-floating-tag", "resource": "app", "reason": "a trial", "owner": "Ada"}
    expires = {"expires": (today() + timedelta(days=10)).isoformat()}
    assert analyzed(FLOATING, waivers=[waiver | expires]) == []
    assert analyzed(FLOATING, waivers=[waiver | {"expires": "2020-01-01"}]) == ["no-floating-tag"]
