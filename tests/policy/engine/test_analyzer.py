"""Tests of the policy pack's answers to the engine's messages, without an engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi_policy import EnforcementLevel

from policy.catalogue import RULES
from policy.engine.analyzer import Analyzer
from policy.engine.pack import RulePolicy, policies
from policy.facts.stack_configuration import LAB, PRODUCTION
from policy.findings import Enforcement
from tests.policy.requests import CONTEXT
from tests.policy.world import UNKNOWN, Given, cloud, message, quorum, stack, whole_stack

ROOT = Path(__file__).parents[3]


def analyzer(pack: Iterable[RulePolicy] | None = None) -> Analyzer:
    return Analyzer("quorate", "0.1.0", list(pack or policies()), EnforcementLevel.MANDATORY)


def asked(given: Iterable[Given]) -> messages.AnalyzeStackRequest:
    resources = [
        messages.AnalyzerResource(type=each.type, urn=each.urn, name=each.name, properties=message(each.props))
        for each in given
    ]
    return messages.AnalyzeStackRequest(resources=resources)


def answered(given: Iterable[Given], profile: str | None) -> set[tuple[str, str]]:
    """Returns the violated rules, each with its enforcement level."""
    server = analyzer()
    config = {"quorate:profile": profile} if profile else {}
    server.ConfigureStack(messages.AnalyzerStackConfigureRequest(stack="test", config=config), CONTEXT)
    return violations(server, given)


def violations(server: Analyzer, given: Iterable[Given]) -> set[tuple[str, str]]:
    response = server.AnalyzeStack(asked(given), CONTEXT)
    return {(messages.EnforcementLevel.Name(each.enforcementLevel), each.policyName) for each in response.diagnostics}


BROKEN = [quorum(replicas=4) if each.name == "rabbitmq" else each for each in whole_stack()]
UNDECIDED = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]


@pytest.mark.parametrize(
    ("profile", "level"),
    [("production", "MANDATORY"), ("lab", "ADVISORY"), (None, "MANDATORY"), ("Lab", "MANDATORY")],
)
@pytest.mark.parametrize("given", [BROKEN, UNDECIDED], ids=["broken", "undecided"])
def test_the_profile_decides(given: list[Given], profile: str | None, level: str) -> None:
    said = answered(given, profile)
    assert (level, "rabbitmq-size") in said
    advised = {rule.id for rule in RULES if rule.enforced(PRODUCTION) is Enforcement.ADVISORY}
    always = {rule.id for rule in RULES if rule.enforced(LAB) is Enforcement.MANDATORY}
    assert {each for each, rule in said if rule not in advised | always} == {level}
    assert {each for each, rule in said if rule in always} <= {"MANDATORY"}
    assert {each for each, rule in said if rule in advised} <= {"ADVISORY"}


LAB_CONFIG = '{"quorate:profile": "lab"}'
BROKEN_LAB = [cloud(profile="lab") if each.name == "cloud" else each for each in BROKEN]


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({"PULUMI_STACK": "test", "PULUMI_CONFIG": LAB_CONFIG, "PULUMI_DRY_RUN": "true"}, "ADVISORY"),
        ({"PULUMI_STACK": "test", "PULUMI_DRY_RUN": "true"}, "MANDATORY"),
    ],
    ids=["lab", "a stack without configuration"],
)
def test_a_proxy_gives_the_configuration_in_the_environment(
    environment: dict[str, str], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy of SDK 3.259.0 passes `ConfigureStack` on to no pack."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = violations(analyzer(), BROKEN_LAB)
    assert (level, "rabbitmq-size") in found
    assert ("MANDATORY", "configuration-received") not in found


def test_a_call_replaces_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy of SDK 3.276.0 gives both; variables of the user's shell would be those of another stack."""
    monkeypatch.setenv("PULUMI_STACK", "another")
    monkeypatch.setenv("PULUMI_CONFIG", LAB_CONFIG)
    found = answered(BROKEN, "production")
    assert ("MANDATORY", "rabbitmq-size") in found
    assert ("MANDATORY", "configuration-received") not in found


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "not evaluated: the stack: the policy pack has received no configuration"),
        ({"PULUMI_STACK": "test", "PULUMI_CONFIG": "{"}, "not evaluated: the stack: the policy pack has received no"),
        ({"PULUMI_STACK": "test", "PULUMI_CONFIG": "[]"}, "not evaluated: the stack: the policy pack has received no"),
        ({"PULUMI_CONFIG": LAB_CONFIG}, "not evaluated: the stack: the policy pack has received no configuration"),
        (
            {"PULUMI_STACK": "prod", "PULUMI_CONFIG": LAB_CONFIG},
            "the stack: the pack has received the configuration of stack prod; expected that of test",
        ),
    ],
)
@pytest.mark.parametrize("call", [False, True], ids=["no call", "a call without a configuration"])
def test_a_configuration_that_is_missing_or_foreign_is_a_violation(
    environment: dict[str, str], message: str, call: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pulumi policy publish` has no configuration; the proxy of SDK 3.276.0 then calls with an empty request."""
    for name in ("PULUMI_STACK", "PULUMI_CONFIG", "PULUMI_DRY_RUN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    server = analyzer()
    if call:
        server.ConfigureStack(messages.AnalyzerStackConfigureRequest(), CONTEXT)
    (found,) = [
        each
        for each in server.AnalyzeStack(asked([stack(), *whole_stack()]), CONTEXT).diagnostics
        if each.policyName == "configuration-received"
    ]
    assert found.enforcementLevel == messages.EnforcementLevel.MANDATORY
    assert message in found.message


def test_the_norm_is_read_while_the_program_runs() -> None:
    """Importing it takes a tenth of a second, which would otherwise be spent at the end of every preview."""
    code = f"""
import sys, threading
from tests.policy.engine.test_analyzer import *
loaded = [name for name in sys.modules if name.startswith({"blueprint.architecture.loader"!r})]
for name in loaded:
    del sys.modules[name]
analyzer().ConfigureStack(messages.AnalyzerStackConfigureRequest(stack="test", config={{}}), CONTEXT)
for thread in threading.enumerate():
    if thread is not threading.main_thread() and thread.daemon:
        thread.join(30)
sys.exit('blueprint.architecture' not in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_engine_is_told_the_level_beforehand() -> None:
    """It hands the level of each policy back as that policy's configuration."""
    pack = policies()
    server = analyzer(pack)
    request = messages.AnalyzerStackConfigureRequest(stack="test", config={"quorate:profile": "lab"})
    server.ConfigureStack(request, CONTEXT)
    mandatory = {policy.name for policy in pack if policy.enforcement_level is EnforcementLevel.MANDATORY}
    assert mandatory == {
        "stateful-keeps-data",
        "rabbitmq-pauses-minority",
        "majority-survives-change",
        "one-storage-node-at-a-time",
        "enforcement-not-lowered",
        "lab-profile-fits",
        "configuration-received",
    }
    assert {policy.enforcement_level for policy in pack if policy.name not in mandatory} == {EnforcementLevel.ADVISORY}


def test_not_applicable_is_said_with_its_reason() -> None:
    response = analyzer().AnalyzeStack(asked(whole_stack()), CONTEXT)
    reasons = {each.policy_name: each.reason for each in response.not_applicable}
    assert reasons["server-label-is-true"] == (
        "no node is a virtual machine of the stack, or the same machine as another node"
    )


def test_a_disabled_policy_says_nothing() -> None:
    pack = policies()
    server = analyzer(pack)
    for policy in pack:
        policy.enforcement_level = EnforcementLevel.DISABLED
    response = server.AnalyzeStack(asked(BROKEN), CONTEXT)
    assert not response.diagnostics
    assert not response.not_applicable


def test_single_resources_are_not_judged() -> None:
    server = analyzer()
    request = messages.AnalyzeRequest(type="kubernetes:apps/v1:Deployment", name="x")
    assert server.Analyze(request, CONTEXT) == messages.AnalyzeResponse()


@pytest.mark.parametrize(("known", "violated"), [(False, True), (True, False)])
def test_inputs_count_only_while_the_properties_are_not_known(known: bool, violated: bool) -> None:
    """The engine sends no properties if the configuration of the resource's provider is not known in a preview."""
    server = analyzer()
    server.ConfigureStack(messages.AnalyzerStackConfigureRequest(stack="test", dry_run=True), CONTEXT)
    even = quorum(replicas=4)
    server.Analyze(messages.AnalyzeRequest(type=even.type, urn=even.urn, properties=message(even.props)), CONTEXT)
    request = asked(whole_stack())
    for each in request.resources:
        if each.urn == even.urn:
            each.provider.urn = "urn:pulumi:test::test::pulumi:providers:kubernetes::later"
            if not known:
                each.ClearField("properties")
    found = {each.policyName for each in server.AnalyzeStack(request, CONTEXT).diagnostics}
    assert ("rabbitmq-size" in found) is violated


def test_an_empty_stack() -> None:
    server = analyzer()
    server.ConfigureStack(messages.AnalyzerStackConfigureRequest(stack="test"), CONTEXT)
    response = server.AnalyzeStack(asked([]), CONTEXT)
    assert not response.diagnostics
    silent = {each.policy_name for each in response.not_applicable}
    evaluated = {"enforcement-not-lowered", "configuration-received"}
    assert silent == {rule.id for rule in RULES} - evaluated, "levels are evaluated in any stack"


def test_an_architecture_of_the_stacks_own(tmp_path: Path) -> None:
    """The Cloud names it, the stack's configuration says where it is; neither counts as one of Quorate's."""
    text = (Path("blueprint/architecture/100.yaml")).read_text(encoding="utf-8")
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace('name: "100"', "name: mine"), encoding="utf-8")
    given = [cloud("mine") if each.name == "cloud" else each for each in whole_stack()]

    def undecided(config: dict[str, str], resources: Iterable[Given] = given) -> set[str]:
        server = analyzer()
        server.ConfigureStack(messages.AnalyzerStackConfigureRequest(stack="test", config=config), CONTEXT)
        return {each.message for each in server.AnalyzeStack(asked(resources), CONTEXT).diagnostics}

    assert not undecided({"quorate:architecture": str(file)})
    assert any("has no file for it" in each for each in undecided({}))
    other = [cloud("theirs") if each.name == "cloud" else each for each in whole_stack()]
    assert any(
        "the stack's own file is 'mine'" in each for each in undecided({"quorate:architecture": str(file)}, other)
    )
    assert not undecided({"quorate:architecture": str(file)}, whole_stack()), "a Cloud of 100 is judged by ours"


@pytest.mark.parametrize(
    ("configured", "expected"),
    [("DISABLED", {"enforcement-not-lowered"}), ("ADVISORY", {"enforcement-not-lowered"}), ("MANDATORY", set[str]())],
)
def test_configuration_lowers_no_rule_unseen(configured: str, expected: set[str]) -> None:
    """Of the gate's own rules not one, its guard among them."""
    server = analyzer()
    server.ConfigureStack(
        messages.AnalyzerStackConfigureRequest(stack="test", config={"quorate:profile": "production"}), CONTEXT
    )
    level = messages.EnforcementLevel.Value(configured)
    config = {rule.id: messages.PolicyConfig(enforcementLevel=level) for rule in RULES}
    request = messages.ConfigureAnalyzerRequest(policyConfig=config)
    server.Configure(request, CONTEXT)  # pyright: ignore[reportUnknownMemberType]
    response = server.AnalyzeStack(asked(whole_stack()), CONTEXT)
    mandatory = messages.EnforcementLevel.MANDATORY
    assert {each.policyName for each in response.diagnostics if each.enforcementLevel == mandatory} == expected
