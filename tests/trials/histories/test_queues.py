"""Deliveries of a queue: wrong histories are named."""

from __future__ import annotations

import pytest

from trials.histories import queues
from trials.histories.operation import ClientOperation, Outcome


def sent(number: int, outcome: Outcome = "ok", client: int = 0) -> ClientOperation:
    return ClientOperation(client, "publish", number, number, number + 0.5, outcome)


@pytest.mark.parametrize(
    ("names", "history", "delivered"),
    [
        ([], (sent(1), sent(2, client=1), sent(3, "unknown"), sent(4, "no")), (2, 1)),
        ([], (sent(1), sent(2, "unknown")), (1, 2)),
        (["lost"], (sent(1), sent(2)), (2,)),
        (["unexpected"], (sent(1),), (1, 7)),
        (["duplicated"], (sent(1),), (1, 1)),
        (["reordered"], (sent(1), sent(2)), (2, 1)),
        (["duplicated"], (sent(1), sent(2)), (1, 2, 1)),
    ],
)
def test_queues(names: list[str], history: tuple[ClientOperation, ...], delivered: tuple[int, ...]) -> None:
    assert [each.name for each in queues.anomalies(history, delivered)] == names


def test_a_message_from_before_the_history_is_late_and_not_unexpected() -> None:
    found = queues.anomalies([sent(5)], (5, 2, 9), earlier=range(5))
    assert [str(each) for each in found] == ["unexpected (1): message 9", "late (1): message 2"]
