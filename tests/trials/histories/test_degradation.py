"""The times of answers before and during a fault."""

from __future__ import annotations

import pytest

from trials.histories.degradation import degradation
from trials.histories.operation import ClientOperation, Outcome


def asked(at: float, took: float, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "write", 1, at, at + took, outcome)


def test_answers_of_the_fault_are_compared_with_those_before_it() -> None:
    history = [asked(0, 1), asked(1, 3), asked(10, 5), asked(15, 7), asked(20, 100)]
    found = degradation(history, 10, 20)
    assert found
    assert (found.before, found.during) == (2, 6)
    assert (found.absolute, found.relative) == (4, 3)


def test_operations_long_before_the_fault_do_not_count() -> None:
    found = degradation([asked(0, 50), asked(90, 2), asked(100, 2)], 100, 110)
    assert found
    assert found.before == 2


def test_an_operation_without_an_answer_does_not_count() -> None:
    found = degradation([asked(0, 1), asked(10, 2), asked(12, 60, "unknown"), asked(13, 60, "no")], 10, 20)
    assert found
    assert found.during == 2


def test_an_operation_that_the_fault_met_is_neither_before_nor_during_it() -> None:
    found = degradation([asked(0, 1), asked(9, 30), asked(11, 1)], 10, 20)
    assert found
    assert (found.before, found.during) == (1, 1)


@pytest.mark.parametrize("history", [[], [asked(0, 1)], [asked(11, 1)]])
def test_without_answers_there_is_nothing_to_compare(history: list[ClientOperation]) -> None:
    assert degradation(history, 10, 20) is None
