"""No value that turns unknown makes a broken rule pass: every value of every failing case is tried.

A rule on what several resources do together may pass if it no longer sees that they belong together. Then another rule
cannot be evaluated, which stops the update.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from policy.catalogue import RULES
from policy.findings import Enforcement, Verdict
from policy.rule import AnyRule, evaluate
from tests.policy.cases import Case
from tests.policy.tables import CASES
from tests.policy.world import UNKNOWN, Given, facts

MOST = 20
"""Resources of a case; whole stacks would take minutes and say no more."""

TOGETHER = {"etcd-settings-keep-quorum", "mounts-keep-barriers", "quorum-workloads-roll-in-turn"}
"""Rules on machines with the commands that change their files, and on workloads of one quorum."""
NOT_STOPPED = {"by a copy, tune: ('remotePath',)", "by a copy, tune: ('connection', 'host')"}
"""A copy to a machine or to a path that is not known (docs/auditing.md)."""

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
    return replace(given, props=props)


def spoilt(case: Case) -> Iterator[tuple[str, list[Given]]]:
    """Yields the resources of a case, each time with another value unknown."""
    for index, given in enumerate(case.given):
        for path in paths(given.props):
            yield f"{given.name}: {path}", [*case.given[:index], unknown_at(given, path), *case.given[index + 1 :]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_broken_rule_stays_broken(rule: AnyRule) -> None:
    cases = [case for case in CASES if case.rule is rule and case.fails and len(case.given) <= MOST]
    passed = {
        f"{case.about}, {where}" for case in cases for where, resources in spoilt(case) if not _stopped(rule, resources)
    }
    assert passed == (NOT_STOPPED if rule.id == "etcd-settings-keep-quorum" else set())


def _stopped(rule: AnyRule, resources: list[Given]) -> bool:
    """Whether the rule fails or is not evaluated. A rule in TOGETHER is stopped if any rule is not evaluated."""
    judged = facts(resources)
    if any(each.verdict.is_violation for each in evaluate(rule, judged, Enforcement.MANDATORY)):
        return True
    others = RULES if rule.id in TOGETHER else ()
    return any(
        each.verdict is Verdict.NOT_EVALUATED
        for other in others
        for each in evaluate(other, judged, Enforcement.MANDATORY)
    )
