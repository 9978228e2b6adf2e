"""Which member of Galera bootstraps, joins or waits."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openstack.scripts.galera.decision import Position, decide, waited_for
from tests.openstack.scripts.galera.positions import FIRST, at, fresh

OTHER = "22222222-2222-2222-2222-222222222222"


def decided(own: Position, *others: Position, forced: str | None = None) -> str:
    return decide(own, others, FIRST, forced).action


def reason(own: Position, *others: Position, forced: str | None = None) -> str:
    return decide(own, others, FIRST, forced).reason


def bootstrapping(*members: Position) -> list[str]:
    """The members that bootstrap if all of these see each other."""
    return [own.name for own in members if decided(own, *(each for each in members if each is not own)) == "bootstrap"]


def test_a_new_cluster_is_bootstrapped_by_the_lowest_ordinal_alone() -> None:
    assert bootstrapping(fresh(0), fresh(1), fresh(2)) == ["mysqld-0"]


def test_a_new_cluster_waits_for_all_its_first_members() -> None:
    assert bootstrapping(fresh(0), fresh(1)) == []
    assert reason(fresh(0), fresh(1)) == "no answer from mysqld-2, which may have newer data"


def test_more_members_than_the_first_ones_do_not_hold_up_a_new_cluster() -> None:
    assert bootstrapping(*(fresh(number) for number in range(5))) == ["mysqld-0"]


def test_an_empty_ordinal_0_beside_members_with_data_does_not_bootstrap() -> None:
    assert bootstrapping(fresh(0), at(1, 5), at(2, 9)) == ["mysqld-2"]
    assert decided(fresh(0), at(1, 5)) == "wait"


def test_the_most_advanced_member_bootstraps_and_ties_go_to_the_lowest_ordinal() -> None:
    assert bootstrapping(at(0, 5), at(1, 5), at(2, 9)) == ["mysqld-2"]
    assert bootstrapping(at(0, 5), at(1, 9), at(2, 9)) == ["mysqld-1"]
    assert bootstrapping(at(2, 9, 2, 10), at(10, 9, 2, 10)) == ["mysqld-2"]


def test_a_member_that_was_in_the_last_primary_component_is_waited_for() -> None:
    assert bootstrapping(at(0, 5), at(1, 5)) == []
    assert "mysqld-2" in reason(at(0, 5), at(1, 5))
    assert bootstrapping(*(at(number, 5, 0, 1, 2, 3, 4) for number in range(4))) == []


def test_a_member_that_left_before_is_not_waited_for() -> None:
    """Its loss was survived: the others have every transaction that it has."""
    assert bootstrapping(at(0, 5, 0, 1), at(1, 6, 0, 1)) == ["mysqld-1"]
    assert bootstrapping(at(1, 6, 1)) == ["mysqld-1"]


def test_who_left_before_waits_for_those_that_went_on() -> None:
    assert decided(at(2, 9, 0, 1, 2)) == "wait"
    assert bootstrapping(at(2, 4, 0, 1, 2), at(0, 5, 0, 1), at(1, 6, 0, 1)) == ["mysqld-1"]


def test_nobody_bootstraps_beside_a_primary_component() -> None:
    alive = replace(at(1, 9), phase="running", primary=True)
    assert decided(at(0, 99), alive) == "join"
    assert decided(fresh(0), alive) == "join"
    assert decided(at(0, 9), alive, forced="mysqld-0") == "join"


def test_data_of_another_cluster_is_never_replaced_by_a_state_transfer() -> None:
    alive = replace(at(1, 9), phase="running", primary=True)
    assert decided(at(0, 3, uuid=OTHER), alive) == "wait"
    assert OTHER in reason(at(0, 3, uuid=OTHER), alive)
    assert bootstrapping(at(0, 3, uuid=OTHER), at(1, 9), at(2, 9)) == []


def test_a_running_member_without_a_primary_component_is_waited_for() -> None:
    running = replace(at(1, 9), phase="running")
    assert decided(at(0, 9), running, at(2, 9)) == "wait"
    assert reason(at(0, 9), running, at(2, 9)) == "mysqld-1 runs and is in no primary component yet"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((at(0, 9, 0, 1, 2), at(1, 9, 0, 1, 2)), True),
        ((at(0, 9, 0, 1, 2), replace(at(1, 9), phase="running")), True),
        ((at(0, 9, 0, 1, 2),), False),  # the other one may be in a primary component
        ((at(0, 9, 0, 1, 2), replace(at(1, 9), phase="running", primary=True)), False),
        ((replace(at(0, 9), phase="running"), replace(at(1, 9), phase="running")), False),  # they find each other
    ],
)
def test_a_member_gives_up_if_all_others_answer_and_wait(others: tuple[Position, ...], *, expected: bool) -> None:
    assert waited_for(("mysqld-0", "mysqld-1", "mysqld-2"), "mysqld-2", others) is expected


def test_incomplete_data_never_starts_a_cluster() -> None:
    incomplete = Position("mysqld-0", "starting", has_data=True)
    assert bootstrapping(incomplete, fresh(1), fresh(2)) == []
    assert bootstrapping(incomplete, at(1, 3), at(2, 4)) == ["mysqld-2"]


def test_force_names_one_member_and_the_others_wait_for_it() -> None:
    assert decided(at(1, 5), forced="mysqld-1") == "bootstrap"
    assert decided(at(0, 9), at(1, 5), forced="mysqld-1") == "wait"


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 3), min_size=3, max_size=5), st.data())
def test_at_most_one_bootstraps_whoever_sees_whom(seqnos: list[int | None], data: st.DataObject) -> None:
    """Also with links that work in one direction, or not at all."""
    size = len(seqnos)
    view = range(size)
    members = [fresh(n) if seqno is None else at(n, seqno, *view) for n, seqno in enumerate(seqnos)]
    found: list[int] = []
    for number, own in enumerate(members):
        others = data.draw(st.lists(st.sampled_from(members), unique=True))
        answers = [each for each in others if each is not own]
        if decide(own, answers, [each.name for each in members], None).action == "bootstrap":
            found.append(number)
    assert len(found) <= 1
    known = [seqno for seqno in seqnos if seqno is not None]
    assert all(seqnos[number] == max(known) for number in found if known)


def test_every_order_of_the_same_answers_decides_the_same() -> None:
    others = (at(1, 5), at(2, 7), fresh(3))
    assert len({decide(at(0, 6), order, FIRST, None) for order in itertools.permutations(others)}) == 1


def restored(position: Position, when: str = "2026-11-22T02:00:00Z") -> Position:
    return replace(position, restored=when)


def test_restored_data_bootstraps_although_the_others_have_more_transactions() -> None:
    own = replace(restored(at(2, 5)), view=())
    assert bootstrapping(at(0, 9), at(1, 9), own) == ["mysqld-2"]
    assert bootstrapping(restored(at(0, 9), "2026-11-21T02:00:00Z"), at(1, 9), own) == ["mysqld-2"]
    assert bootstrapping(at(0, 9), own) == [], "the first members are waited for"


def test_a_member_takes_over_restored_data_in_place_of_its_own() -> None:
    serving = restored(replace(at(2, 5), phase="running", primary=True))
    assert decide(at(0, 9), [serving], FIRST, None).restored == serving.restored
    assert decide(fresh(3), [serving], FIRST, None).restored == serving.restored
    assert decide(restored(at(0, 6)), [serving], FIRST, None).restored == "", "it has taken over already"


def test_restored_data_never_joins_a_cluster_with_data_from_before() -> None:
    old = replace(at(0, 9), phase="running", primary=True)
    assert "stop all members" in reason(restored(at(2, 5)), old)
    assert decided(restored(at(2, 5)), old) == "wait"
