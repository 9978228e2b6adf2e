"""The rules of a stack together: waivers apply, and the order of the rules does not matter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import date

import pytest

from policy.catalogue import BY_ID, RULES, WAIVABLE
from policy.evaluation import evaluate_all
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Finding, Verdict
from policy.rule import AnyRule
from tests.policy.waivers import changed, written_waiver
from tests.policy.world import facts, machines, quorum, stack
from tests.stacks import ROOT

TODAY = date(2026, 11, 21)
WAIVER = written_waiver("rabbitmq-size", "rabbit*", "a fifth server is ordered", "Ada", date(2026, 12, 31), "Grace")
WAIVERS = Waivers((WAIVER, changed(WAIVER, resource="mysqld")), on=TODAY, rules=WAIVABLE)
GIVEN = [stack(), *machines("rabbitmq"), quorum(replicas=4)]


def evaluated(rules: Sequence[AnyRule]) -> dict[str, list[Finding]]:
    return evaluate_all([(rule, Enforcement.MANDATORY) for rule in rules], facts(GIVEN, WAIVERS))


def test_a_failure_is_waived_and_its_waiver_is_used() -> None:
    found = evaluated([BY_ID["rabbitmq-size"], BY_ID["waiver-is-used"]])
    assert [each.verdict for each in found["rabbitmq-size"]] == [Verdict.WAIVED]
    assert found["rabbitmq-size"][0].waiver == WAIVER
    assert [each.verdict for each in found["waiver-is-used"]] == [Verdict.PASS, Verdict.FAIL]


@pytest.mark.parametrize("rules", [RULES, RULES[::-1], (*RULES[1::2], *RULES[::2])], ids=["as read", "back", "mixed"])
def test_the_order_of_the_rules_does_not_matter(rules: Sequence[AnyRule]) -> None:
    found = evaluated(rules)
    assert list(found) == [rule.id for rule in rules]
    assert found == evaluated(RULES)
    assert evaluated(rules) == found, "nothing is remembered from one evaluation to the next"


def test_a_waiver_of_a_disabled_rule_is_not_known_to_be_used() -> None:
    (first, second) = evaluated([BY_ID["waiver-is-used"]])["waiver-is-used"]
    assert first.verdict is second.verdict is Verdict.NOT_EVALUATED


def test_a_stack_without_waivers_does_not_load_pydantic() -> None:
    """It takes a third of a second, in every preview."""
    program = "import sys, policy.engine.analyzer, policy.facts.stack_waivers as w; w.read('', {}); "
    code = f"{program} sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
