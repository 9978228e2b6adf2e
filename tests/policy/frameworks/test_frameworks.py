"""Controls of frameworks name rules that exist, or say why none evaluates them."""

from __future__ import annotations

import pytest

from policy import frameworks
from policy.catalogue import BY_ID
from policy.frameworks import of_rule

CONTROLS = [control for each in frameworks.frameworks() for control in each.controls]


def test_a_control_names_rules_that_exist() -> None:
    assert [(each.control, rule) for each in CONTROLS for rule in each.rules if rule not in BY_ID] == []


def test_a_control_has_an_id_of_its_own_a_place_and_words() -> None:
    assert len({each.control for each in CONTROLS}) == len(CONTROLS)
    assert all(each.where and each.says for each in CONTROLS)
    assert all(each.place and each.version for each in frameworks.frameworks())


def test_a_rule_knows_its_frameworks() -> None:
    assert of_rule("masters-apart") == ("SCS-0214",)
    assert of_rule("waiver-is-used") == ()


def test_a_control_without_rules_says_why() -> None:
    entry: dict[str, object] = {"control": "X-1", "where": "1", "says": "something holds", "rules": []}
    with pytest.raises(ValueError, match="X-1: write rules, or not_judged"):
        frameworks._control("x.yaml", entry)  # pyright: ignore[reportPrivateUsage]
