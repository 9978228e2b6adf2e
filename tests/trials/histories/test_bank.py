"""Totals of a bank: wrong histories are named."""

from __future__ import annotations

from trials.histories import bank
from trials.histories.operation import ClientOperation, Outcome


def total(*balances: int, outcome: Outcome = "ok") -> ClientOperation:
    return ClientOperation(0, "total", list(balances), 0, 1, outcome)


def test_totals() -> None:
    transfer = ClientOperation(0, "transfer", [9], 0, 1, "ok")
    assert bank.anomalies([transfer, total(1, -1), total(0, 0), total(9, 9, outcome="unknown")], 2) == []
    assert [str(each) for each in bank.anomalies([total(1, 1), total(2, -1), total(0, 0)], 2)] == [
        "wrong-total (2): 2 instead of 0"
    ]
    assert [each.name for each in bank.anomalies([total(0)], 2)] == ["missing-account"]
