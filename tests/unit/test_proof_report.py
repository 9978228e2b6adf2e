"""What the report of a proof says of lost quorums: a failure, or expected of a stack so small."""

from __future__ import annotations

from typing import Any

import pytest

from proof.faults import QuorumLoss
from proof.report import expected_loss


def losing(*quorums: QuorumLoss, everything: bool = False) -> dict[str, Any]:
    """A document in which one server fails."""
    lost = [
        {"row": each.row, "members": each.members, "left": each.left, "holds": each.holds, "mustHold": each.must_hold}
        for each in quorums
    ]
    return {"losses": [{"servers": ["one1"], "everything": everything, "quorums": lost}]}


@pytest.mark.parametrize(
    ("members", "left", "holds"),
    [(1, 0, False), (2, 1, False), (3, 2, True), (3, 1, False), (5, 3, True), (5, 2, False)],
)
def test_a_quorum_holds_with_a_majority(members: int, left: int, holds: bool) -> None:
    assert QuorumLoss("etcd", members, left, must_hold=True).holds is holds


def test_a_quorum_that_had_to_hold_is_never_called_expected() -> None:
    assert expected_loss(losing(QuorumLoss("etcd", 3, 1, must_hold=True))) == ""
    assert expected_loss(losing(QuorumLoss("etcd", 3, 2, must_hold=True))) == ""


def test_a_quorum_that_tolerates_no_failure_is_named() -> None:
    sentence = expected_loss(
        losing(QuorumLoss("mysqld-server", 1, 0, must_hold=False), QuorumLoss("etcd", 3, 2, must_hold=True))
    )
    assert sentence.startswith("Too few members to tolerate a failure: mysqld-server. ")


def test_the_only_server_is_named() -> None:
    sentence = expected_loss(losing(QuorumLoss("etcd", 1, 0, must_hold=False), everything=True))
    assert sentence.startswith(
        "The stack runs on one server: the failure of one1 stops the cloud and loses all its data."
    )
