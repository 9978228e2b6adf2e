"""Tests of a stack whose placement is a Fuel-CCP topology's, on the real engine with the policy pack."""

from __future__ import annotations

import shutil
from pathlib import Path

from audit import log
from audit.result import audit
from policy.catalogue import BY_ID, RULES
from policy.findings import Verdict
from tests.engine.conftest import PACK, open_project
from tests.stacks import ROOT, server, write

TOPOLOGY = ROOT / "tests" / "data" / "topologies" / "stack" / "three-nodes.yaml"


def test_the_audit_evaluates_a_topology(tmp_path: Path, engine: dict[str, str]) -> None:
    """Every rule gives a verdict. Rules that need the table compare the topology's counts and pools with it."""
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    config = {"profile": "lab", "architecture": "100", "topology": TOPOLOGY.name, "servers": servers}
    project = open_project(tmp_path / "project", "test", engine, write(tmp_path, config))
    shutil.copy(TOPOLOGY, project.directory)
    done = project.run("preview", *PACK)
    assert done.code == 0, done.output
    found = audit("test", log.read(project.directory / "events.jsonl"))
    assert found.problems == ()
    assert found.architecture == "100"
    assert {finding.rule for finding in found.findings} == {rule.id for rule in RULES}
    assert Verdict.NOT_EVALUATED not in {finding.verdict for finding in found.findings}
    broken = {rule.id for rule in RULES if found.verdict_of(rule) is Verdict.FAIL}
    compared = {"instances-match-row", "every-row-has-workload", "dedicated-nodes-are-there", "services-apart"}
    assert broken == {*compared, "one-role-per-machine"}
    said = [finding.message for finding in found.violations]
    keystone = "keystone: 1 instance; expected at least 3 (row keystone-all, architecture 100)"
    assert [message for message in said if message.endswith(keystone)]
    assert [message for message in said if "no workload for row ceph-osd" in message]
    assert [message for message in said if "0 dedicated nodes in total; expected 6 (architecture 100)" in message]
    assert found.verdict_of(BY_ID["one-member-per-server"]) is Verdict.PASS
