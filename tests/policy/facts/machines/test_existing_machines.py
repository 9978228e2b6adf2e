"""Rules on a stack whose machines exist already: which have nothing to evaluate, and that no other one is silent."""

from __future__ import annotations

from typing import Any

import pulumi
import yaml

import contract
from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from policy.catalogue import BY_ID
from policy.findings import Enforcement, Finding, Verdict
from policy.rule import EXISTING_MACHINES, evaluate
from tests.policy.world import Given, facts, stack
from tests.recording import record
from tests.stacks import STACKS, parsed

ABOUT_FILES = {
    "api-proxy-knows-all-masters",
    "api-proxy-timeout",
    "certificates-read-only",
    "command-asks-quorum",
    "commands-one-machine-at-a-time",
    "control-plane-namespace",
    "domain-gives-what-is-said",
    "virtual-disks-flush",
    "etcd-is-backed-up",
    "etcd-members-agree",
    "etcd-settings-keep-quorum",
    "leader-election",
    "machine-facts-match-files",
    "machine-has-its-files",
}
"""Every rule that an existing cluster's machines give nothing to read; docs/live.md lists them."""


STATIC_PODS = {"host-access-where-needed", "no-floating-tag"}
"""Rules that also evaluate static pods in machines' files, beside the workloads in the cluster."""
ABOUT_CERTIFICATES = {"migrations-are-encrypted"}
"""Rules on a transport that only machines with certificates of Quorate have."""


def findings(machines: str) -> dict[str, list[Finding]]:
    document: Any = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))
    config = {key.removeprefix("quorate:"): value for key, value in document["config"].items()}
    planned = plan(parsed({**config, "machines": machines}))
    resources = record(lambda: build(planned))
    given = [Given(each.type, each.name, each.inputs, after=tuple(each.depends_on)) for each in resources]
    evaluated = facts([stack(), *given], profile="lab")
    return {name: evaluate(rule, evaluated, Enforcement.ADVISORY) for name, rule in BY_ID.items()}


def build(planned: Any) -> None:
    root = pulumi.Output.secret("the root secret of these tests")
    Cloud("cloud", CloudArgs(planned, "test", Render("test"), root))


def silent(found: dict[str, list[Finding]]) -> set[str]:
    return {name for name, each in found.items() if each[0].verdict is Verdict.NOT_APPLICABLE}


def test_only_rules_on_files_of_machines_become_silent_and_say_why() -> None:
    managed, existing = findings("managed"), findings("existing")
    assert silent(existing) - silent(managed) == ABOUT_FILES
    assert {existing[name][0].message for name in ABOUT_FILES} == {EXISTING_MACHINES}
    assert {name for name, rule in BY_ID.items() if rule.reads_machine_files} == ABOUT_FILES
    wrong = (Verdict.FAIL, Verdict.NOT_EVALUATED)
    assert [each for found in existing.values() for each in found if each.verdict in wrong] == []


def test_the_nodes_of_an_existing_cluster_are_seen_as_those_of_machines_that_quorate_makes() -> None:
    """The same workloads, servers, masters and members are evaluated, each as often."""
    managed, existing = findings("managed"), findings("existing")
    for name in BY_ID.keys() - ABOUT_FILES - STATIC_PODS - ABOUT_CERTIFICATES:
        one, other = (_verdicts(found[name]) for found in (managed, existing))
        assert one == other, name


def _verdicts(found: list[Finding]) -> set[tuple[Verdict, str]]:
    """The verdict of each resource; not of the trees of machines' files, which existing machines do not have."""
    return {(each.verdict, each.resource) for each in found if contract.TREE not in each.resource}
