"""Totals of a bank and deliveries of a queue: wrong histories are named."""

from __future__ import annotations

import pytest

from trials.histories import bank, queues
from trials.histories.operation import ClientOperation, Outcome, parse


def total(*balances: int, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "total", list(balances), 0, 1, outcome)


def test_totals() -> None:
    transfer = ClientOperation(0, "transfer", [9], 0, 1, "ok")
    assert bank.anomalies([transfer, total(1, -1), total(0, 0), total(9, 9, outcome="unknown")], 2) == []
    assert [str(each) for each in bank.anomalies([total(1, 1), total(2, -1), total(0, 0)], 2)] == [
        "wrong-total (2): 2 instead of 0"
    ]
    assert [each.name for each in bank.anomalies([total(0)], 2)] == ["missing-account"]


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


def test_a_log_is_read_in_the_order_of_invocations() -> None:
    line = '{"process": 1, "action": "publish", "value": 3, "invoked": %d, "completed": 9, "outcome": "ok"}\n'
    found = parse([line % 5, "Traceback …\n", line % 4, line[:20]])
    assert [each.invoked for each in found] == [4, 5]


def test_a_client_that_is_killed_leaves_what_it_has_begun() -> None:
    line = '{"process": 1, "action": "publish", "value": %d, "invoked": %d, "completed": 9, "outcome": "%s"}\n'
    found = parse([line % (1, 1, "unknown"), line % (1, 1, "ok"), line % (2, 2, "unknown")])
    assert [(each.value, each.outcome) for each in found] == [(1, "ok"), (2, "unknown")]
