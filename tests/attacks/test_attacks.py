"""Every attack is stopped by the rule that it names. The list of attacks that are not stopped is exact."""

from __future__ import annotations

import pytest

from policy.catalogue import RULES
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement
from policy.rule import evaluate
from tests.attacks.attack import Attack
from tests.attacks.cases import BY_NAME
from tests.policy.world import facts, stack


def stopped_by(attack: Attack) -> set[str]:
    """Mandatory rules that fail or cannot be evaluated, so that an update ends."""
    judged = facts([stack(), *attack.given])
    found = (each for rule in RULES for each in evaluate(rule, judged, rule.enforced(PRODUCTION)))
    return {each.rule for each in found if each.verdict.is_violation and each.enforcement is Enforcement.MANDATORY}


@pytest.mark.parametrize("attack", BY_NAME.values(), ids=lambda attack: attack.name)
def test_a_rule_stops_it(attack: Attack) -> None:
    stopped = stopped_by(attack)
    if attack.caught_by:
        assert attack.caught_by in stopped
    else:
        assert stopped == set(), "this attack is stopped now: name the rule, and remove it from docs/auditing.md"
