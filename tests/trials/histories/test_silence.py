"""The longest time without an acknowledged operation."""

from __future__ import annotations

from trials.histories.operation import ClientOperation, Outcome
from trials.histories.silence import longest


def ended(at: float, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "write", [], at - 0.5, at, outcome)


def test_only_acknowledged_operations_after_the_fault_count() -> None:
    history = [ended(1), ended(9), ended(10.5), ended(14), ended(12, "unknown"), ended(13, "no")]
    assert longest(history, 9) == 3.5
    assert longest(history, 11) == 3
    assert longest(history, 0) == 8


def test_the_time_until_the_first_answer_counts() -> None:
    assert longest([ended(7), ended(8)], 2) == 5
    assert longest([], 2) == 0
