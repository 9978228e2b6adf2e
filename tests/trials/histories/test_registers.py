"""Linearizable registers: wrong histories are found, and every order of few operations is tried for comparison."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trials.histories.operation import ClientOperation, Outcome
from trials.histories.registers import anomalies, first_contradiction


def write(value: int, invoked: float, completed: float, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "write", ["x", value], invoked, completed, outcome)


def read(value: int | None, invoked: float, completed: float) -> ClientOperation:
    return ClientOperation(0, "read", ["x", value], invoked, completed, "ok")


def cas(*value: int | bool, invoked: float, outcome: Outcome = "ok", seconds: float = 1) -> ClientOperation:
    return ClientOperation(0, "cas", ["x", *value], invoked, invoked + seconds, outcome)


@pytest.mark.parametrize(
    "history",
    [
        (read(None, 0, 1), write(1, 2, 3), read(1, 4, 5)),
        (write(1, 0, 5), read(None, 1, 2), read(1, 3, 4)),
        (write(1, 0, 1, "unknown"), read(None, 2, 3), read(1, 4, 5)),  # it took effect after the client gave up
        (write(1, 0, 1, "no"), read(None, 2, 3)),
        (write(1, 0, 1), cas(1, 2, True, invoked=2), cas(1, 3, False, invoked=4), read(2, 6, 7)),
        (write(1, 0, 1), cas(1, 2, False, invoked=2, outcome="unknown"), read(2, 6, 7)),
    ],
)
def test_linearizable(history: Sequence[ClientOperation]) -> None:
    assert anomalies(history) == []


@pytest.mark.parametrize(
    "history",
    [
        (write(1, 0, 1), read(None, 2, 3)),  # a lost write
        (write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)),  # a stale read
        (write(1, 0, 5), read(1, 1, 2), read(None, 3, 4)),  # back in time
        (write(1, 0, 1, "no"), read(1, 2, 3)),
        (write(1, 0, 1, "unknown"), read(1, 2, 3), read(None, 4, 5)),
        (write(1, 0, 1), cas(1, 2, True, invoked=2), cas(1, 3, True, invoked=2)),  # two winners
        (write(1, 0, 1), cas(1, 2, False, invoked=2)),
        (read(7, 0, 1),),
    ],
)
def test_not_linearizable(history: Sequence[ClientOperation]) -> None:
    assert [each.name for each in anomalies(history)] == ["not linearizable"]


def test_registers_are_independent_and_the_contradiction_is_named() -> None:
    other = ClientOperation(0, "read", ["y", 5], 2, 3, "ok")
    (found,) = anomalies((write(5, 0, 1), other))
    assert str(found) == "not linearizable (1): read of ['y', 5]"


def _any_order(history: Sequence[ClientOperation]) -> bool:
    """Whether one of all orders explains the history: the definition, without any search."""
    optional = [each for each in history if each.outcome == "unknown"]
    certain = [each for each in history if each.outcome == "ok"]
    return any(
        _explains(order)
        for count in range(len(optional) + 1)
        for some_ in itertools.combinations(optional, count)
        for order in itertools.permutations([*certain, *some_])
    )


def _explains(order: Sequence[ClientOperation]) -> bool:
    for place, one in enumerate(order):
        if any(other.outcome == "ok" and other.completed < one.invoked for other in order[place + 1 :]):
            return False
    value = None
    for each in order:
        if each.action == "write":
            value = each.value[1]
        elif each.action == "read":
            if each.value[1] != value:
                return False
        else:
            _, old, new, was_set = each.value
            if each.outcome == "ok" and (value == old) is not was_set:
                return False
            if each.outcome == "unknown" and value != old:
                return False
            value = new if was_set or each.outcome == "unknown" else value
    return True


@some.composite
def _operation(draw: some.DrawFn) -> ClientOperation:
    invoked = draw(some.integers(0, 8))
    completed = invoked + draw(some.integers(1, 6))
    value, other = draw(some.integers(1, 2)), draw(some.integers(1, 2))
    outcome: Outcome = draw(some.sampled_from(("ok", "ok", "unknown")))
    match draw(some.sampled_from(("write", "read", "cas"))):
        case "write":
            return write(value, invoked, completed, outcome)
        case "read":
            return read(draw(some.sampled_from((None, 1, 2))), invoked, completed)
        case _:
            return cas(
                value, other, draw(some.booleans()), invoked=invoked, outcome=outcome, seconds=completed - invoked
            )


@settings(max_examples=300, deadline=None)
@given(some.lists(_operation(), max_size=5))
def test_the_search_finds_an_order_if_and_only_if_there_is_one(history: list[ClientOperation]) -> None:
    assert (first_contradiction(history) is None) is _any_order(history)
