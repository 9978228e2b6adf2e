"""Topologies of several files, several environments on one cluster, and the command that shows them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from blueprint.topology import judge_together, place, read_topology
from commands.command_line import main
from tests.topologies import CACHE, REAL, ROOT, Output, numbered, on_three, placed, run

COMMON = "registry: {address: '127.0.0.1:31500'}\nreplicas: {etcd: 3}\nconfigs: {cluster_domain: cluster.local}\n"
ROLES = "---\nroles:\n  net: [openvswitch-db]\n  ctl: [etcd]\n"


def environment(folder: Path, number: int, nodes: str, namespace: str) -> Path:
    """One of several environments as source 004, 2.1.4 lays them out: shared files and a topology of its own."""
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    (shared / "common.yaml").write_text("!include\n- hardware.yaml\n---\n" + COMMON)
    (shared / "hardware.yaml").write_text("")
    (shared / "roles.yaml").write_text(ROLES)
    (folder / f"nodes-{number}.yaml").write_text(
        f"nodes: {{'node[1-9]': {{roles: [ctl]}}, '{nodes}': {{roles: [net]}}}}\n"
    )
    main_file = folder / f"environment-{number}.yaml"
    main_file.write_text(
        f"!include\n- shared/common.yaml\n- shared/roles.yaml\n- nodes-{number}.yaml\n"
        f"---\nkubernetes:\n  namespace: {namespace}\n"
    )
    return main_file


def test_included_files_merge_and_paths_are_relative_to_the_including_file(tmp_path: Path) -> None:
    topology = read_topology(environment(tmp_path, 1, "node[1-3]", "ccp-1"))
    placement = place(topology, numbered(9))
    assert topology.namespace == "ccp-1"
    assert topology.configs == {"cluster_domain": "cluster.local"}
    assert placement.services["openvswitch-db"].hosts == ("node1", "node2", "node3")
    assert placement.services["etcd"].replicas == 3
    assert placement.findings == ()


def test_later_layers_win_and_an_empty_section_takes_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(CACHE + "replicas: {memcached: 3}\n")
    (tmp_path / "more.yaml").write_text("replicas: {memcached: 2}\nroles: {all: [nginx]}\n")
    placement = placed(
        tmp_path, "replicas: {memcached: 1}\n---\n!include [base.yaml, more.yaml]\n---\nreplicas:\nnodes:\n---\n"
    )
    assert list(placement.services) == ["nginx"]
    assert [finding.key for finding in placement.findings] == ["replicas.memcached"]


def test_an_include_may_be_the_value_of_a_key(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("all: [memcached]")
    placement = placed(tmp_path, "nodes: {'node[1-3]': {roles: [all]}}\nroles: !include r.yaml\n")
    assert placement.services["memcached"].hosts == ("node1", "node2", "node3")
    assert placement.findings == ()


def test_one_file_may_be_included_by_two(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(CACHE)
    for name in ("left", "right"):
        (tmp_path / f"{name}.yaml").write_text("!include base.yaml\n")
    assert placed(tmp_path, "!include [left.yaml, right.yaml]\n").findings == ()


def test_a_cycle_over_two_files_names_both(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("!include topology.yaml\n---\n" + CACHE)
    findings = placed(tmp_path, "!include other.yaml\n").findings
    assert [finding.rule for finding in findings] == ["include-cycle"]
    assert "topology.yaml -> other.yaml -> topology.yaml" in findings[0].message


def test_a_cycle_below_leaves_the_way_to_it_out(tmp_path: Path) -> None:
    (tmp_path / "left.yaml").write_text("!include right.yaml\n")
    (tmp_path / "right.yaml").write_text("!include left.yaml\n")
    findings = placed(tmp_path, "!include left.yaml\n").findings
    assert [finding.rule for finding in findings] == ["include-cycle"]
    assert "includes itself: left.yaml -> right.yaml -> left.yaml;" in findings[0].message


def test_what_is_wrong_in_an_included_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("roles: [")
    placement = placed(tmp_path, "!include broken.yaml\n---\nnodes: {node1: {roles: [all]}}\n")
    assert [(f.rule, Path(f.key).name) for f in placement.findings] == [("not-yaml", "broken.yaml")]


def test_environments_apart_are_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [environment(tmp_path, n, f"node[{3 * n - 2}-{3 * n}]", f"ccp-{n}") for n in (1, 2, 3)]
    status, output = run(capsys, *files, "--nodes", ",".join(numbered(9)))
    assert status == 0
    assert output["findings"] == []
    assert list(output["environments"]) == [str(file) for file in files]
    second = cast("dict[str, dict[str, object]]", output["environments"][str(files[1])]["services"])
    assert second["openvswitch-db"]["hosts"] == ["node4", "node5", "node6"]


def test_environments_whose_host_network_services_meet_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [environment(tmp_path, 1, "node[1-3]", "ccp-1"), environment(tmp_path, 2, "node[3-5]", "ccp-2")]
    status, output = run(capsys, *files, "--nodes", ",".join(numbered(9)))
    assert status == 1
    assert [(f["rule"], f["severity"]) for f in output["findings"]] == [("environments-meet", "error")]
    message = output["findings"][0]["message"]
    assert "openvswitch-db uses the node's own network" in message
    assert "on node3; give each" in message
    assert "etcd" not in message


def test_environments_in_one_namespace_are_refused(tmp_path: Path) -> None:
    files = [environment(tmp_path, n, f"node{n}", "ccp") for n in (1, 2)]
    topologies = [read_topology(file) for file in files]
    findings = judge_together([(topology, place(topology, numbered(9))) for topology in topologies])
    assert [(f.rule, f.severity, f.key) for f in findings] == [("same-namespace", "error", "kubernetes.namespace")]


# The command


def test_the_command_prints_what_is_promised() -> None:
    command = [
        sys.executable,
        "-m",
        "commands.command_line",
        "topology",
        str(REAL / "topology-example.yaml"),
        "--nodes",
        "node1,node2,node3",
    ]
    done = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
    output = cast("dict[str, object]", json.loads(done.stdout))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(output) == ["services", "lines", "findings"]
    assert cast("Output", output)["services"]["nova-compute"] == {"hosts": ["node2", "node3"], "replicas": 2}
    for finding in cast("Output", output)["findings"]:
        assert list(finding) == ["rule", "severity", "key", "message"]
        assert finding["message"].startswith(f"{finding['key']}: ")
    table = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "nova-compute               DaemonSet    2         node2, node3" in table
    assert table[-1] == "accepted, 7 findings"
    assert any(line.startswith("warning: replicas.etcd: etcd has one member") for line in table)


def test_the_table_shows_errors_first_and_says_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yaml").write_text(on_three("etcd, nonsense"))
    assert main(["topology", str(tmp_path / "t.yaml"), "--nodes", "node[1-3]"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[-3:-1]] == ["error", "warning"]
    assert lines[-1] == "refused, 2 findings"


@pytest.mark.parametrize(
    ("nodes", "hosts"),
    [
        ("node2, node1", ["node1", "node2"]),
        ("node[1-2],node3", ["node1", "node2", "node3"]),
        ("node[1,3]", ["node1", "node3"]),
    ],
)
def test_nodes_may_be_listed_or_patterned(
    nodes: str, hosts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.yaml").write_text(CACHE)
    _, output = run(capsys, tmp_path / "t.yaml", "--nodes", nodes)
    assert output["services"]["memcached"]["hosts"] == hosts


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["t.yaml"],
        ["--nodes", "node1"],
        ["t.yaml", "--nodes", "a", "--frobnicate"],
        *[["t.yaml", "--nodes", nodes] for nodes in ("", "a,,b", "a,a", "a[1", "a b")],
    ],
)
def test_wrong_arguments_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", *arguments]) == 2
    assert "Usage: quorate topology" in capsys.readouterr().err
