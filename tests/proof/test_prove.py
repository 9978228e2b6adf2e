"""The proof of a small stack of architecture 100, with all trials and its documents."""

from __future__ import annotations

import json
from pathlib import Path

from proof import proof_file as documents
from proof import report
from proof.prove import TRIALS, ProvedStack, prove


def test_architecture_100_holds(small: ProvedStack, binaries: Path) -> None:
    proof = prove(small, binaries, lambda _said: None)
    assert [str(finding) for finding in proof.findings] == []
    seen = json.loads(documents.to_json(documents.document(proof, "v1.37.2")))
    assert seen["verdict"] == "pass"
    assert seen["dedicated"] == {"expected": 6, "seen": 6}
    assert set(seen["trials"].values()) == {"done"}
    assert set(seen["trials"]) == set(TRIALS)
    assert {row["row"]: row["seen"] for row in seen["rows"] if row["quorum"]} == {  # Prometheus does not vote
        "rabbitmq-server": 3,
        "mysqld-server": 3,
        "ceph-mon": 3,
        "Elasticsearch + Kibana": 3,
    }
    # Every server failed once, and three-member quorums kept two members.
    assert len(seen["losses"]) == seen["counts"]["servers"]
    assert all(held["left"] >= 2 for loss in seen["losses"] for held in loss["quorums"])
    assert all(rollout["mostDown"] <= 1 for rollout in seen["rollouts"])
    assert {row for drain in seen["drains"] for row in drain["secondMemberRefused"]} >= {
        "rabbitmq-server",
        "mysqld-server",
    }
    assert all(each["plan"] and each["pending"] for each in seen["overreaches"])
    text = report.markdown(seen)
    assert "# Proof of small: passed" in text
    assert "| 100 | small |" in report.summary([seen])
