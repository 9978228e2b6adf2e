"""Stacks of the real topologies and of the samples of source 004: what is planned, left out and refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from proof.expected import expected_state
from tests.stacks import ROOT, parsed, server
from tests.topologies import REAL

TEXTS = REAL / "texts"


@pytest.fixture(autouse=True)
def _in_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def stack(file: Path, nodes: int = 3) -> dict[str, Any]:
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server(f"node[1-{nodes}]", [], "10.20.1.1")]
    topology = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file.name
    return {"profile": "lab", "architecture": "100", "topology": str(topology), "servers": servers}


def planned(file: Path, nodes: int = 3) -> Plan:
    return plan(parsed(stack(file, nodes)))


def refused(file: Path) -> dict[str, str]:
    """Returns the messages of a refused topology, by its key."""
    with pytest.raises(InvalidStackError) as caught:
        planned(file)
    return {each.key.partition("(")[2].rstrip(")"): each.message for each in caught.value.problems}


@pytest.mark.parametrize("file", [file for file in sorted(REAL.glob("*.yaml")) if "golden" not in file.name], ids=str)
def test_every_real_topology_is_a_stack(file: Path) -> None:
    result = planned(file)
    assert result.services
    left_out = [text for text in result.warnings if " is left out: " in text]
    assert len(left_out) == {"topology-with-stacklight-example.yaml": 4}.get(file.name, 1)


def test_the_environments_of_the_document_are_stacks() -> None:
    result = planned(TEXTS / "2.1.4-environment.yaml", nodes=9)
    assert result.settings.networks.physical["physnet1"].interface == "eth2"
    assert next(each.instances for each in result.services if each.name == "nova-compute") == 2


@pytest.mark.parametrize(
    ("file", "keys"),
    [
        ("2.7.2-calico.yaml", ["configs.neutron.plugin_agent", "roles.calico"]),
        (
            "2.8.2-opendaylight.yaml",
            ["configs.neutron.plugin_agent", "roles.opendaylight", "roles.openvswitch"],
        ),
    ],
)
def test_what_is_not_built_is_refused_line_by_line(file: str, keys: list[str]) -> None:
    found = refused(TEXTS / file)
    assert sorted(found) == keys
    assert all("not built" in text or "only" in text or "retired" in text for text in found.values())


def test_the_document_s_sample_of_sr_iov_lacks_quotation_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML reads 0000:02:00.2 as a number of the base 60. With quotation marks, the sample is a stack."""
    file = TEXTS / "2.5.2-sr-iov.yaml"
    (text,) = refused(file).values()
    assert text.startswith("is 120.2; YAML reads 0000:02:00.2 as a number; write a PCI address with quotation marks")
    monkeypatch.chdir(tmp_path)
    corrected = re.sub(r"- (0000:02:00\.[23])", r"- '\1'", file.read_text(encoding="utf-8"))
    (tmp_path / file.name).write_text(corrected, encoding="utf-8")
    result = planned(tmp_path / file.name)
    (agent,) = [each for each in result.companions if each.name == "neutron-sriov-nic-agent"]
    assert agent.only_nodes == ("node2", "node3")
    card = result.settings.nodes["node3"].sriov["ens2f1"]
    assert (card.network, card.exclude) == ("physnet1", ("0000:02:00.2", "0000:02:00.3"))
    alias = result.settings.projects.overrides["nova"].options["nova.conf"]["pci"]["alias"]
    assert alias == (
        '{"name": "82599ES", "product_id": "10fb", "vendor_id": "8086"}',
        '{"name": "X710", "product_id": "1572", "vendor_id": "8086"}',
    )
    assert any("Nova gives them to virtual machines all the same" in each for each in result.warnings)


# Collectors


def test_planned_logs_have_collectors() -> None:
    result = planned(REAL / "topology-with-stacklight-example.yaml")
    runs = {each.name: each for each in (*result.services, *result.companions)}
    nodes = {node.pool for node in result.nodes}
    assert set(runs["log-collector"].pools) == set(runs["node-exporter"].pools) == nodes
    assert runs["lma-aggregator"].pools == runs["elasticsearch-kibana"].pools
    warnings = "\n".join(result.warnings)
    assert "topology: heka is left out: log-collector on every node takes its place" in warnings
    assert "stacklight-collector is left out: log-collector and node-exporter on every node take its place" in warnings
    assert "lma-aggregator" not in warnings


def test_a_node_with_a_collector_alone_has_one() -> None:
    file = REAL / "docs__monitoring_and_logging_1.yaml"
    result = planned(file)
    assert {node.name for node in result.nodes} >= {"node1", "node2", "node3"}
    assert "log-collector" not in {each.name for each in result.companions}
    assert any("log-collector needs elasticsearch: place it" in text for text in result.warnings)
    assert set(expected_state(parsed(stack(file))).servers) == {node.name for node in result.nodes}


def test_a_collector_without_its_store_places_no_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "t.yaml"
    file.write_text(
        "nodes: {node1$: {roles: [a]}, 'node[2-3]$': {roles: [b]}}\n"
        "roles: {a: [memcached, keystone, database], b: [heka]}\n"
        "services: {database: {service_def: galera}}\n"
    )
    result = planned(file)
    assert {node.name for node in result.nodes} == {"master1", "master2", "master3", "node1"}
    assert set(expected_state(parsed(stack(file))).servers) == {node.name for node in result.nodes}
