"""No value that turns unknown makes a broken rule pass: every value of every failing case is tried."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import pytest

from policy.catalogue import RULES
from policy.findings import Enforcement
from policy.rule import AnyRule, evaluate
from tests.policy.cases import Case
from tests.policy.tables import CASES
from tests.policy.world import UNKNOWN, Given, facts

MOST = 20
"""Resources of a case; whole stacks would take minutes and say no more."""

Path = tuple[str | int, ...]


def paths(value: object, above: Path = ()) -> Iterator[Path]:
    """Yields the path of every value in a resource's properties."""
    if above:
        yield above
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from paths(item, (*above, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from paths(item, (*above, index))


def unknown_at(given: Given, path: Path) -> Given:
    props = copy.deepcopy(given.props)
    *above, last = path
    holder: Any = props
    for key in above:
        holder = holder[key]
    holder[last] = UNKNOWN
    return Given(given.type, given.name, props)


def spoilt(case: Case) -> Iterator[tuple[str, list[Given]]]:
    """Yields the resources of a case, each time with another value unknown."""
    for index, given in enumerate(case.given):
        for path in paths(given.props):
            yield f"{given.name}: {path}", [*case.given[:index], unknown_at(given, path), *case.given[index + 1 :]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_broken_rule_stays_broken(rule: AnyRule) -> None:
    cases = [case for case in CASES if case.rule is rule and case.fails and len(case.given) <= MOST]
    passed = [
        f"{case.about}, {where}"
        for case in cases
        for where, resources in spoilt(case)
        if not any(each.verdict.is_violation for each in evaluate(rule, facts(resources), Enforcement.MANDATORY))
    ]
    assert not passed
