"""Histories of transactions on lists that are wrong, each in one way, and one that is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trials.histories.append_lists import anomalies
from trials.histories.operation import ClientOperation, Outcome

Step = list[object]


def append(key: int, number: int) -> Step:
    return ["append", key, number]


def read(key: int, *numbers: int) -> Step:
    return ["r", key, list(numbers)]


def done(*steps: Step, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "transaction", list(steps), 0, 1, outcome)


def names(*history: ClientOperation, final: dict[int, list[int]] | None = None) -> set[str]:
    return {each.name for each in anomalies(history, final)}


def test_transactions_one_after_the_other() -> None:
    history = (
        done(append(1, 1), read(1, 1)),
        done(read(1, 1), append(1, 2), append(2, 3)),
        done(append(1, 4), outcome="unknown"),
        done(append(1, 5), outcome="no"),
        done(read(1, 1, 2, 4), read(2, 3)),
    )
    assert names(*history, final={1: [1, 2, 4], 2: [3]}) == set()


@pytest.mark.parametrize(
    ("name", "history"),
    [
        (
            "G0",
            (done(append(1, 1), append(2, 1)), done(append(1, 2), append(2, 2)), done(read(1, 1, 2), read(2, 2, 1))),
        ),
        ("G1a", (done(append(1, 1), outcome="no"), done(read(1, 1)))),
        ("G1b", (done(append(1, 1), append(1, 2)), done(read(1, 1)), done(read(1, 1, 2)))),
        ("G1c", (done(append(1, 1), read(2, 2)), done(append(2, 2), read(1, 1)))),
        ("G-single", (done(append(1, 1), append(2, 1)), done(read(1, 1), read(2)), done(read(2, 1)))),
        ("G2-item", (done(read(1), append(2, 2)), done(read(2), append(1, 1)), done(read(1, 1), read(2, 2)))),
        ("incompatible-order", (done(append(1, 1)), done(append(1, 2)), done(read(1, 1, 2)), done(read(1, 2)))),
        ("duplicate-elements", (done(append(1, 1)), done(read(1, 1, 1)))),
        ("unexpected-element", (done(read(1, 7)),)),
        ("internal", (done(append(1, 1), read(1)), done(append(1, 2), read(1, 2)))),
    ],
)
def test_a_wrong_history_is_named(name: str, history: tuple[ClientOperation, ...]) -> None:
    assert name in names(*history)


def test_write_skew_is_no_worse_than_that() -> None:
    history = (done(read(1), append(2, 2)), done(read(2), append(1, 1)), done(read(1, 1), read(2, 2)))
    assert names(*history) == {"G2-item"}


def test_a_lost_update_is_a_cycle_with_one_missed_read() -> None:
    history = (done(read(1), append(1, 1)), done(read(1), append(1, 2)), done(read(1, 1, 2)))
    assert names(*history) == {"G-single"}


def test_what_was_acknowledged_is_in_the_final_state() -> None:
    history = (done(append(1, 1)), done(append(1, 2), outcome="unknown"), done(append(1, 3), outcome="no"))
    assert names(*history, final={1: []}) == {"lost-append"}
    assert names(*history, final={1: [1]}) == set()


@given(some.lists(some.tuples(some.integers(1, 3), some.booleans(), some.integers(1, 3)), max_size=30))
def test_serial_transactions_have_no_anomaly(planned: list[tuple[int, bool, int]]) -> None:
    lists: dict[int, list[int]] = {1: [], 2: [], 3: []}
    history: list[ClientOperation] = []
    for number, (target, reads_first, source) in enumerate(planned):
        steps = [read(source, *lists[source])] if reads_first else []
        lists[target].append(number)
        history.append(done(*steps, append(target, number), read(target, *lists[target])))
    assert names(*history, final=lists) == set()
