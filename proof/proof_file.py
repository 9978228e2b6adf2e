"""proof.json, the result of a stack's proof as a versioned document, which report.py renders as proof.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from files import atomic
from proof.checks import dedicated_pools
from proof.expected import ExpectedRow
from proof.prove import TRIALS, StackProof

VERSION = 1
"""Version of proof.json, incremented if readers of the previous version would misread the document."""

Document = dict[str, Any]


def document(proof: StackProof, kubernetes: str) -> Document:
    """Returns the content of proof.json for a proof, in a stable order. `kubernetes`: version of the control plane."""
    cluster, state = proof.cluster, proof.state
    pools = dedicated_pools(state, cluster)
    return {
        "version": VERSION,
        "stack": proof.stack,
        "architecture": state.architecture.name,
        "kubernetes": kubernetes,
        "verdict": "pass" if proof.holds else "fail",
        "trials": {trial: "done" if trial in proof.trials else "not done" for trial in TRIALS},
        "counts": {
            "servers": len({node.server for node in cluster.nodes.values()}),
            "nodes": len(cluster.nodes),
            "pods": len(cluster.pods),
            "objects": proof.objects,
        },
        "dedicated": {"expected": state.dedicated_total, "seen": sum(len(nodes) for nodes in pools.values())},
        "rows": [_row(proof, expected, len(pools.get(expected.service, ()))) for expected in state.rows],
        "losses": [_loss(proof, index) for index in range(len(proof.losses))],
        "rollouts": [
            {
                "workload": each.workload,
                "row": each.row,
                "instances": each.members,
                "mostDown": each.most_down,
                "ended": each.ended,
                "seconds": round(each.seconds, 1),
            }
            for each in proof.rollouts
        ],
        "drains": [
            {"node": each.node, "evicted": each.evicted, "secondMemberRefused": list(each.refused)}
            for each in proof.drains
        ],
        "overreaches": [
            {
                "row": each.row,
                "asked": each.asked,
                "eligible": each.eligible,
                "pending": each.pending,
                "plan": each.plan,
            }
            for each in proof.scaling_trials
        ],
        "findings": [
            {"check": each.check, "subject": each.subject, "message": each.message} for each in proof.findings
        ],
        "seconds": {what: round(seconds, 1) for what, seconds in proof.seconds.items()},
        "controlPlaneMemory": proof.memory,
    }


def write(directory: Path, name: str, text: str) -> Path:
    """Writes a report such as proof.md into a directory, atomically. Returns the report's path."""
    path = directory / name
    atomic.write(path, text)
    return path


def to_json(document: Document) -> str:
    """Returns the content of a report such as proof.json as JSON text."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _row(proof: StackProof, expected: ExpectedRow, dedicated: int) -> Document:
    pods = proof.cluster.of_row(expected.name)
    everywhere = sum(map(expected.may_use, proof.cluster.nodes.values()))
    return {
        "row": expected.name,
        "service": expected.service,
        "expected": everywhere if expected.instances is None else expected.instances,
        "seen": sum(pod.ready for pod in pods),
        "everywhere": expected.instances is None,
        "quorum": expected.quorum,
        "dedicatedExpected": expected.dedicated_nodes,
        "dedicatedSeen": dedicated,
        "nodes": [] if expected.instances is None else sorted({pod.node or "" for pod in pods}),
        "servers": [] if expected.instances is None else sorted({proof.cluster.server_of(pod) or "" for pod in pods}),
    }


def _loss(proof: StackProof, index: int) -> Document:
    loss = proof.losses[index]
    return {
        "servers": list(loss.servers),
        "nodes": list(loss.nodes),
        "pods": loss.pods,
        "quorums": [
            {
                "row": each.row,
                "members": each.members,
                "left": each.left,
                "holds": each.holds,
                "mustHold": each.must_hold,
            }
            for each in loss.quorums
        ],
        "everything": loss.everything,
        "below": [{"row": row, "left": left, "wanted": wanted} for row, left, wanted in loss.below],
        "elsewhere": [{"row": row, "node": node} for row, node in loss.elsewhere],
    }
