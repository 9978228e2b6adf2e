"""The actions of a plan: their names, and the quorums that they need."""

from __future__ import annotations

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from operations import actions
from tests.stacks import STACKS, full_size, parsed, two_brokers


@pytest.mark.parametrize("stack", STACKS)
def test_names_are_unique(stack: str) -> None:
    found = [each.name for each in actions.of_plan(plan(load_file(STACKS[stack])))]
    assert len(found) == len(set(found))


def test_a_stack_with_further_brokers_has_the_same_actions() -> None:
    found = {each.name for each in actions.of_plan(plan(parsed(full_size("100") | two_brokers())))}
    assert found == {each.name for each in actions.of_plan(plan(parsed(full_size("100"))))}


def test_an_action_names_the_quorums_that_it_needs() -> None:
    found = {each.name: each for each in actions.of_plan(plan(parsed(full_size("100"))))}
    assert (found["mysqld-restore"].quorums, found["mysqld-restore"].requires) == (("mysqld",), "stopped")
    assert (found["mysqld-backup"].quorums, found["mysqld-backup"].requires) == (("mysqld",), "whole")
    assert (found["neutron-messaging"].quorums, found["neutron-messaging"].requires) == (("rabbitmq",), "majority")
