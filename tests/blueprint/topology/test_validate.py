"""All errors of a topology are reported in one run.

tests/data/topology-cases.yaml holds every way to go wrong; it and the tables of docs/topology.md are held together.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import TypedDict, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from blueprint.problems import InvalidStackError
from blueprint.topology import TopologyError, TopologyFinding, place, read_topology
from tests.topologies import CACHE, ROOT, on_three, placed, run


class Case(TypedDict):
    rule: str
    severity: str
    key: str
    words: str
    text: str


CASES = cast("list[Case]", yaml.safe_load((ROOT / "tests" / "data" / "topology-cases.yaml").read_text()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}-{case['key']}")
def test_what_is_wrong_is_said(case: Case, tmp_path: Path) -> None:
    placement = placed(tmp_path, case["text"])
    found = [f for f in placement.findings if f.rule == case["rule"] and f.key.endswith(case["key"])]
    assert len(found) == 1, placement.findings
    assert case["words"] in found[0].message
    assert found[0].severity == case["severity"]
    assert case["severity"] == "warning" or placement.refused


def test_aliases_that_stand_for_millions_are_refused(tmp_path: Path) -> None:
    lines = [
        f"{name}: &{name} [{', '.join([inner] * 60)}]"
        for name, inner in [("a", "1"), ("b", "*a"), ("c", "*b"), ("d", "*c")]
    ]
    placement = placed(tmp_path, "\n".join(lines))
    assert [finding.rule for finding in placement.findings] == ["alias-bomb"]
    assert "with its aliases; write at most 10000" in placement.findings[0].message


def test_aliases_and_merge_keys_in_reason_are_read(tmp_path: Path) -> None:
    text = (
        "nodes:\n  node1: &one {roles: [all]}\n  node2: *one\n  node3: {<<: *one, <<: *one}\nroles: {all: [memcached]}"
    )
    placement = placed(tmp_path, text)
    assert placement.services["memcached"].hosts == ("node1", "node2", "node3")
    assert placement.findings == ()


def test_endless_nesting_is_a_finding(tmp_path: Path) -> None:
    placement = placed(tmp_path, "a: " + "[" * 3000 + "]" * 3000)
    assert [finding.rule for finding in placement.findings] == ["not-yaml"]
    assert "line 1, column 102: nests more than 100 levels" in placement.findings[0].message


def test_unsafe_tag_runs_nothing(tmp_path: Path) -> None:
    placed(tmp_path, "configs: !!python/object/apply:os.mkdir ['made']\n")
    assert not Path("made").exists()
    assert not (tmp_path / "made").exists()


def test_absent_file_is_a_finding_and_not_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = run(capsys, tmp_path / "none.yaml", "--nodes", "node1")
    assert status == 1
    assert output["services"] == {}
    assert [(f["rule"], f["severity"]) for f in output["findings"]] == [("file-absent", "error")]
    assert "no such file or directory; give the path of a topology file" in output["findings"][0]["message"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01\x80abc", b"nodes: caf\xe9", b"\x00"])
def test_bytes_that_are_no_text_are_a_finding(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.yaml").write_bytes(content)
    status, output = run(capsys, tmp_path / "t.yaml", "--nodes", "node1")
    assert status == 1
    assert {f["rule"] for f in output["findings"]} <= {"not-yaml", "not-a-mapping"}
    assert output["findings"]


def test_all_that_is_wrong_is_said_in_one_run(tmp_path: Path) -> None:
    text = """
nodes:
  node1: {roles: [ctl, gone]}
  node9$: {roles: [ctl]}
  node[: {roles: [ctl]}
roles: {ctl: [etcd, murano-api, nonsense]}
replicas: {etcd: 2, horizon: 1, memcached: x}
"""
    rules = [finding.rule for finding in placed(tmp_path, text).findings if finding.severity == "error"]
    assert sorted(rules) == sorted(
        [
            "bad-pattern",
            "bad-replicas",
            "pattern-matches-nothing",
            "undefined-role",
            "too-many-replicas",
            "replicas-of-unplaced",
            "undefined-service",
            "retired-service",
            "no-quorum",
            "members-on-one-node",
            *["undefined-dependency"] * 3,
        ]
    )


def test_services_are_shown_even_if_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yaml").write_text(on_three("etcd, sahara-api, nonsense", "replicas: {etcd: 2, sahara-api: x}"))
    status, output = run(capsys, tmp_path / "t.yaml", "--nodes", "node1,node2")
    assert status == 1
    assert output["services"] == {
        "etcd": {"hosts": ["node1", "node2"], "replicas": 2},
        "sahara-api": {"hosts": ["node1", "node2"], "replicas": 1},
    }


def test_a_pattern_without_nodes_leaves_its_services_without_hosts(tmp_path: Path) -> None:
    text = "nodes: {cmp: {roles: [all]}}\nroles: {all: [nova-libvirt, memcached]}"
    services = placed(tmp_path, text).services
    assert {name: (service.hosts, service.replicas) for name, service in services.items()} == {
        "memcached": ((), 1),
        "nova-libvirt": ((), 0),
    }


def test_reading_raises_with_every_error_and_what_could_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(f"{CACHE}replicas: {{memcached: x, etcd: 0}}")
    with pytest.raises(TopologyError) as caught:
        read_topology(tmp_path / "t.yaml")
    assert isinstance(caught.value, InvalidStackError)
    assert [problem.key for problem in caught.value.problems] == ["replicas.memcached", "replicas.etcd"]
    assert [finding.key for finding in caught.value.findings] == ["replicas.memcached", "replicas.etcd"]
    assert caught.value.topology.roles == {"all": ("memcached",)}


def test_documented_rules_are_the_tested_ones() -> None:
    """Each row of the tables in docs/topology.md has a case here, and each case a row."""
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, ]+) \|", (ROOT / "docs" / "topology.md").read_text(), re.MULTILINE)
    documented = {(rule, severity) for rule, severities in rows for severity in severities.split(", ")}
    elsewhere = {("file-absent", "error"), ("environments-meet", "error"), ("same-namespace", "error")}
    elsewhere.add(("not-built", "error"))
    assert documented == {(case["rule"], case["severity"]) for case in CASES} | elsewhere


@given(st.text(max_size=200))
def test_any_text_ends_in_findings_and_never_in_a_traceback(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        placement = placed(Path(folder), text)
    assert placement.refused
    assert all(isinstance(finding, TopologyFinding) and finding.message for finding in placement.findings)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "([a-z]+)*x", "a*a*a*a*a*$"])
def test_a_pattern_that_takes_exponential_time_is_refused_at_once(tmp_path: Path, pattern: str) -> None:
    """Against 40 letters and another sign, `(a+)+$` would try 2^40 ways."""
    file = tmp_path / "topology.yaml"
    file.write_text(f"nodes: {{'{pattern}': {{roles: [all]}}}}\nroles: {{all: [memcached]}}\n")
    started = time.process_time()
    with pytest.raises(TopologyError, match=f"nodes.{re.escape(pattern)}: repeats "):
        place(read_topology(file), ["a" * 40 + "-1"])
    assert time.process_time() - started < 1
