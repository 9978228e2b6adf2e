"""The proof of small labs: a stack on one server loses everything with it, and the proof reports that as expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from proof import proof_file as documents
from proof import report
from proof.checks import check_cluster
from proof.prove import StackProof, prove
from proof.verify import verify
from tests.proof.conftest import rendered_subject
from tests.stacks import STACKS


def proved(root: Path, name: str, binaries: Path) -> tuple[StackProof, dict[str, Any]]:
    with rendered_subject(root, STACKS[name]) as subject:
        proof = prove(subject, binaries, lambda _said: None, trials=("faults",))
    assert [str(finding) for finding in proof.findings] == []
    return proof, documents.document(proof, "")


def test_one_server_loses_everything_as_expected(tmp_path: Path, binaries: Path) -> None:
    proof, document = proved(tmp_path, "one-server", binaries)
    assert {(row["expected"], row["seen"]) for row in document["rows"]} == {(1, 1)}
    (loss,) = document["losses"]
    assert (loss["servers"], loss["everything"]) == (["one1"], True)
    assert {quorum["row"] for quorum in loss["quorums"]} >= {"etcd", "mysqld-server", "rabbitmq-server"}
    assert {(quorum["left"], quorum["holds"], quorum["mustHold"]) for quorum in loss["quorums"]} == {(0, False, False)}
    assert report.expected_loss(document) == (
        "The stack runs on one server: the failure of one1 stops the cloud and loses all its data. This is expected of "
        "one server and is not a finding."
    )
    assert report.expected_loss(document) in report.markdown(document)
    assert "**lost**" not in report.markdown(document)
    assert verify(proof.state, proof.cluster) == []


def test_two_servers_lose_the_only_members_with_their_server(tmp_path: Path, binaries: Path) -> None:
    proof, document = proved(tmp_path, "two-servers", binaries)
    counts = {row["service"]: row["seen"] for row in document["rows"]}
    assert (counts["mysqld"], counts["keystone"], counts["ceph-osd"], counts["neutron-l2-agent"]) == (1, 2, 2, 4)
    assert document["dedicated"] == {"expected": 0, "seen": 0}
    assert [loss["everything"] for loss in document["losses"]] == [False, False]
    assert "etcd" in report.expected_loss(document)
    assert "keystone" not in report.expected_loss(document)
    below = {(each["row"], each["left"]) for loss in document["losses"] for each in loss["below"]}
    assert {("keystone-all", 1), ("mysqld-server", 0)} <= below
    # The checks still compare: one instance or one node less in the cluster than expected is a finding.
    rows = tuple(replace(each, instances=3) if each.name == "mysqld-server" else each for each in proof.state.rows)
    assert "instances" in {finding.check for finding in check_cluster(replace(proof.state, rows=rows), proof.cluster)}
    missing = {name: node for name, node in proof.cluster.nodes.items() if name != "storage2"}
    found = verify(proof.state, replace(proof.cluster, nodes=missing))
    assert ("nodes-declared", "node storage2") in {(finding.check, finding.subject) for finding in found}
