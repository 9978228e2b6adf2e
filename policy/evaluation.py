"""Evaluates rules on a whole stack and applies its waivers."""

from __future__ import annotations

from collections.abc import Sequence

from policy.facts.stack import Facts
from policy.findings import Enforcement, Finding
from policy.rule import AnyRule, evaluate


def evaluate_all(rules: Sequence[tuple[AnyRule, Enforcement]], facts: Facts) -> dict[str, list[Finding]]:
    """Returns the findings of each rule by its id, in the order of `rules`, with waived failures.

    Rules about waivers read the findings of the rules that can be waived, which are therefore evaluated first.
    """
    found = {rule.id: evaluate(rule, facts, level) for rule, level in rules if rule.waivable}
    known = facts.after(found)
    found |= {rule.id: evaluate(rule, known, level) for rule, level in rules if not rule.waivable}
    return {rule.id: facts.waivers.apply(found[rule.id]) for rule, _ in rules}
