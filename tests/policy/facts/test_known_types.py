"""Tests of the counts of evaluated resources: each resource counts once, and a type that no rule reads is unknown."""

from __future__ import annotations

from policy.catalogue import RULES
from policy.facts.known_types import HARMLESS, READ, Coverage, coverage, total
from policy.findings import Enforcement, Verdict
from policy.rule import evaluate
from tests.policy.world import Given, facts, service, whole_stack, workload

FOREIGN = Given("kubernetes:helm.sh/v3:Release", "release", {"chart": "rabbitmq"})


def covered(*given: Given) -> dict[str, Coverage]:
    judged = facts(given)
    findings = [each for rule in RULES for each in evaluate(rule, judged, Enforcement.MANDATORY)]
    evaluated = {each.resource for each in findings if each.verdict is not Verdict.NOT_APPLICABLE}
    return coverage(judged.resources, evaluated)


def test_what_no_rule_has_seen_is_unknown() -> None:
    found = covered(workload("app"), service("app"), FOREIGN)
    assert found == {
        "kubernetes:apps/v1:Deployment": Coverage(evaluated=1),
        "kubernetes:core/v1:Service": Coverage(read=1),
        "kubernetes:helm.sh/v3:Release": Coverage(unknown=1),
    }
    assert total(found) == Coverage(evaluated=1, read=1, unknown=1)


def test_every_resource_counts_once() -> None:
    given = whole_stack()
    sums = total(covered(*given))
    assert sums.evaluated + sums.read + sums.harmless + sums.unknown == len(given)
    assert sums.unknown == 0


def test_no_type_is_in_both_tables_and_each_has_a_reason() -> None:
    assert not READ.keys() & HARMLESS.keys()
    assert all(len(reason.split()) >= 2 for reason in (*READ.values(), *HARMLESS.values()))
