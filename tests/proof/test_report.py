"""What the report of a proof says of lost quorums: a failure, or expected of a stack so small."""

from __future__ import annotations

from typing import Any

import pytest

from proof.faults import QuorumLoss
from proof.report import expected_loss, markdown, summary
from text.quoting import in_markdown


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


def test_names_from_outside_are_no_markup() -> None:
    """Names of nodes, rows and messages come from the stack and from the cluster."""
    text = "a|b`\n## @team <img src=x>"
    loss = {"row": text, "left": 1, "members": 3, "holds": False, "mustHold": True}
    document = {
        "stack": text,
        "architecture": text,
        "verdict": "fail",
        "kubernetes": "v1.34.2",
        "counts": dict.fromkeys(("objects", "nodes", "servers", "pods"), 1),
        "findings": [{"check": "quorum-survives", "subject": text, "message": text}],
        "dedicated": {"seen": 0, "expected": 0},
        "rows": [
            {"row": text, "expected": 1, "seen": 1, "everywhere": False, "nodes": [text], "quorum": True}
            | {"dedicatedSeen": 0, "dedicatedExpected": 0}
        ],
        "losses": [
            {"servers": [text], "everything": False, "quorums": [loss]}
            | {"below": [{"row": text, "left": 0, "wanted": 1}], "elsewhere": [{"row": text, "node": text}]}
        ],
        "rollouts": [{"workload": text, "instances": 1, "mostDown": 1, "ended": True, "seconds": 1}],
        "drains": [{"node": text, "evicted": 1, "secondMemberRefused": [text]}],
        "overreaches": [{"row": text, "asked": 1, "eligible": 1, "pending": 1, "plan": text}],
        "seconds": {"total": 1},
        "controlPlaneMemory": 1,
    }
    written = markdown(document)
    assert written.count(in_markdown(text)) == 16
    for sign in ("a|b", "`", "\n## @", "@team", "<img"):
        assert sign not in written
    assert in_markdown(text) in summary([document | {"drains": [], "rollouts": [], "losses": []}])
