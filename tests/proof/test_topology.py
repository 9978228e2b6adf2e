"""The proof of a stack that a Fuel-CCP topology lays out: the topology gives the expected state."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from proof import proof_file as documents
from proof.checks import check_cluster
from proof.prove import ProvedStack, prove
from proof.verify import verify
from tests.proof.conftest import rendered_subject
from tests.stacks import ROOT, server, write

TOPOLOGY = Path("tests/data/topologies/stack/three-nodes.yaml")
"""Relative to the project: the repository, and a copy of it."""


@pytest.fixture
def subject(tmp_path: Path) -> Generator[ProvedStack]:
    """Three masters and the three nodes of a topology, rendered by the engine."""
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    config = {"profile": "lab", "architecture": "100", "topology": str(TOPOLOGY), "servers": servers}
    (tmp_path / TOPOLOGY.parent).mkdir(parents=True)
    shutil.copy(ROOT / TOPOLOGY, tmp_path / TOPOLOGY)
    with rendered_subject(tmp_path, write(tmp_path, config, "Pulumi.topology.yaml")) as made:
        yield made


def test_a_topology_gives_counts_and_nodes(subject: ProvedStack, binaries: Path) -> None:
    proof = prove(subject, binaries, lambda _said: None, trials=("faults",))
    assert [str(finding) for finding in proof.findings] == []
    document = documents.document(proof, "")
    rows = {row["service"]: row for row in document["rows"]}
    assert (rows["mysqld"]["expected"], rows["keystone"]["expected"], rows["nova-compute"]["expected"]) == (3, 1, 2)
    assert rows["keystone"]["nodes"] == ["node1"]
    assert "radosgw" not in rows
    # Quorums of three must survive every server; Keystone of one instance need not.
    held = {quorum["row"]: quorum["left"] for loss in document["losses"] for quorum in loss["quorums"]}
    assert held == {"mysqld-server": 2, "rabbitmq-server": 2, "etcd": 2}
    (first,) = [loss for loss in document["losses"] if loss["servers"] == ["node1"]]
    assert {"row": "keystone-all", "left": 0, "wanted": 1} in first["below"]
    assert verify(proof.state, proof.cluster) == []
    # Another topology than the rendered one: every difference is a finding.
    rows = tuple(replace(each, nodes=frozenset({"node2"})) for each in proof.state.rows)
    moved = check_cluster(replace(proof.state, rows=rows), proof.cluster)
    assert "Deployment keystone" in {finding.subject for finding in moved if finding.check == "on-its-pools"}
