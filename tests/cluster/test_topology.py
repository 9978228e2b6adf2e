"""The proof of a stack that a Fuel-CCP topology lays out: it is judged against the topology."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.stackfile.loader import load_file
from commands.temporary_rendering import rendered
from proof import proof_file as documents
from proof.checks import check_cluster
from proof.prove import Subject, prove
from proof.simulation import read
from tests.stacks import ROOT, SOURCES, server, write
from toolchain.engine import MANIFEST, Engine

TOPOLOGY = ROOT / "tests" / "data" / "topologies" / "stack" / "three-nodes.yaml"


@pytest.fixture
def laid_out(tmp_path: Path) -> Generator[Subject]:
    """Three masters and the three nodes of a topology, rendered by the engine."""
    if Engine.load(ROOT / ".venv" / MANIFEST) is None:
        pytest.skip("the engine is not set up: `make setup`")
    for name in (*SOURCES, ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    config = {"profile": "lab", "architecture": "100", "topology": str(TOPOLOGY), "servers": servers}
    file = write(tmp_path, config, "Pulumi.topology.yaml")
    with rendered(tmp_path, "topology") as tree:
        yield Subject("topology", load_file(file), read(tree))


def test_a_topology_s_counts_and_nodes_are_what_is_judged(laid_out: Subject, binaries: Path) -> None:
    proof = prove(laid_out, binaries, lambda _said: None, trials=())
    assert [str(finding) for finding in proof.findings] == []
    rows = {row["service"]: row for row in documents.document(proof, "")["rows"]}
    assert (rows["mysqld"]["expected"], rows["keystone"]["expected"], rows["nova-compute"]["expected"]) == (3, 1, 2)
    assert rows["keystone"]["nodes"] == ["node1"]
    assert "radosgw" not in rows
    # Another topology than the one that was rendered: every difference is a finding.
    more = replace(proof.state, rows=tuple(replace(each, nodes=frozenset({"node2"})) for each in proof.state.rows))
    moved = {finding.subject for finding in check_cluster(more, proof.cluster) if finding.check == "on-its-pools"}
    assert "Deployment keystone" in moved
