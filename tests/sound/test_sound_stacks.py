"""A valid stack passes every rule, with only the advisory findings that its case lists."""

from __future__ import annotations

import pytest

from policy.catalogue import RULES
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement
from policy.rule import evaluate
from tests.policy.world import facts, stack
from tests.sound.cases import BY_NAME
from tests.sound.sound import Sound


@pytest.mark.parametrize("sound", BY_NAME.values(), ids=lambda sound: sound.name)
def test_no_rule_reports_it(sound: Sound) -> None:
    judged = facts([stack(), *sound.given])
    findings = [each for rule in RULES for each in evaluate(rule, judged, rule.enforced(PRODUCTION))]
    reported = [each for each in findings if each.verdict.is_violation]
    assert [f"{each.rule}: {each.message}" for each in reported if each.rule not in sound.notes] == []
    assert {each.rule for each in reported if each.enforcement is Enforcement.ADVISORY} == sound.notes
