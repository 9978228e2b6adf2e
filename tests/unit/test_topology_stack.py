"""A stack whose placement is a Fuel-CCP topology's."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import Plan, plan
from blueprint.problems import InvalidStackError
from tests.stacks import ROOT, parsed, server

TOPOLOGIES = ROOT / "tests" / "data" / "topologies"


def stack(topology: Path, nodes: int = 3, **more: Any) -> dict[str, Any]:
    return {
        "profile": "lab",
        "architecture": "100",
        "topology": str(topology),
        "servers": [
            server("master[1-3]", ["master"], "10.20.0.1"),
            server(f"node[1-{nodes}]", [], "10.20.1.1"),
        ],
        **more,
    }


def pools_of(result: Plan) -> dict[str, set[str]]:
    """Service to the nodes of its pools."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for service in result.services:
        for node in result.nodes:
            if node.pool in service.pools:
                nodes[service.name].add(node.name)
    return nodes


def test_services_may_run_where_the_topology_says() -> None:
    result = plan(parsed(stack(TOPOLOGIES / "topology-example.yaml")))
    nodes = pools_of(result)
    assert nodes["keystone"] == {"node1"}
    assert nodes["mysqld"] == {"node1", "node2", "node3"}
    assert nodes["rabbitmq"] == {"node1", "node2", "node3"}
    assert nodes["nova-compute"] == {"node2", "node3"}
    assert nodes["neutron-l2-agent"] == {"node1", "node2", "node3"}
    assert nodes["placement-api"] == nodes["nova-api"]
    assert "cinder-api" not in nodes


def test_counts_are_the_topology_s(tmp_path: Path) -> None:
    text = (TOPOLOGIES / "topology-example.yaml").read_text(encoding="utf-8")
    path = tmp_path / "topology.yaml"
    path.write_text(f"{text}\nreplicas:\n  database: 3\n  rpc: 3\n", encoding="utf-8")
    counts = {service.name: service.instances for service in plan(parsed(stack(path))).services}
    assert (counts["mysqld"], counts["rabbitmq"], counts["keystone"]) == (3, 3, 1)
    assert (counts["nova-compute"], counts["neutron-l2-agent"]) == (2, 3)


def test_a_key_without_an_end_takes_node10_too() -> None:
    result = plan(parsed(stack(TOPOLOGIES / "topology-example.yaml", nodes=12)))
    assert pools_of(result)["keystone"] == {"node1", "node10", "node11", "node12"}
    assert any("node4 carries no service" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes: {nde1: {roles: [a]}}\nroles: {a: [keystone]}\n", "nde1"),
        ("nodes: {node1: {roles: [b]}}\nroles: {a: [keystone]}\n", "b"),
        ("nodes: {'node[1-3]': {roles: [a]}}\nroles: {a: [murano-api]}\n", "murano"),
    ],
    ids=["a pattern that matches nothing", "an undefined role", "a retired service"],
)
def test_what_ccp_took_in_silence_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidStackError) as caught:
        plan(parsed(stack(path)))
    assert any(problem.key.startswith("quorate:topology") and said in str(problem) for problem in caught.value.problems)


def test_roles_stand_in_one_place_only() -> None:
    config = stack(TOPOLOGIES / "topology-example.yaml")
    config["servers"][1]["roles"] = ["controller"]
    with pytest.raises(InvalidStackError, match=r"quorate:servers \(node1\).roles: the topology gives all"):
        plan(parsed(config))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError, match=r"quorate:topology.*no\.yaml"):
        plan(parsed(stack(tmp_path / "no.yaml")))
