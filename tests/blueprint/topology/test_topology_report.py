"""What the page of a topology says of each of its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.topology import TopologyError, TopologyLine, place, read_topology, report
from tests.topologies import BACKENDS, REAL, numbered, on_three, run


def reported(file: Path) -> dict[str, TopologyLine]:
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    return {line.key: line for line in report(topology, place(topology, numbered(3)), numbered(3), "-mysqld")}


def of(folder: Path, text: str) -> dict[str, TopologyLine]:
    (folder / "t.yaml").write_text(text)
    return reported(folder / "t.yaml")


@pytest.mark.parametrize("file", [file for file in REAL.rglob("*.yaml") if "golden" not in file.name], ids=str)
def test_each_line_of_a_file_is_in_the_page(file: Path) -> None:
    lines = reported(file)
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    keys = {f"roles.{role}.{name}" for role, names in topology.roles.items() for name in names}
    keys |= {f"nodes.{key}" for key in topology.nodes} | {f"replicas.{name}" for name in topology.replicas}
    keys |= {f"services.{name}.service_def" for name in topology.services} | set(topology.unread)
    assert keys | {line.key for line in place(topology, numbered(3)).configs} == set(lines)
    assert all(line.text for line in lines.values())


@pytest.mark.parametrize(
    ("service", "fate", "text"),
    [
        ("keystone", "becomes", "keystone (on node1, node2, node3)"),
        ("mariadb", "becomes", "mysqld (on node1, node2, node3)"),
        ("memcached", "becomes", "memcached (on node1, node2, node3)"),
        ("nova-libvirt", "becomes", "a part of nova-compute, beside which it runs (on node1, node2, node3)"),
        ("glance-registry", "becomes", "glance-api, which holds the image records itself (on node1, node2, node3)"),
        ("cron", "left out", "the kubelet rotates the logs that containers print"),
        ("heka", "left out", "log-collector needs elasticsearch: place it, or nothing does this part of its work"),
        ("calico-felix", "refused", "is not built yet; remove it: neutron-openvswitch-agent connects virtual machines"),
        ("murano-api", "refused", "is retired upstream; use images with cloud-init"),
        ("nonsense", "refused", "has no definition"),
    ],
)
def test_a_service_became_this(service: str, fate: str, text: str, tmp_path: Path) -> None:
    line = of(tmp_path, on_three(service))[f"roles.all.{service}"]
    assert line.fate == fate
    assert line.text.startswith(text)


def test_agents_on_every_node_take_the_place_of_a_service(tmp_path: Path) -> None:
    lines = of(tmp_path, on_three("heka, stacklight-collector, elasticsearch, influxdb"))
    one, both = lines["roles.all.heka"].text, lines["roles.all.stacklight-collector"].text
    assert one == "log-collector on every node takes its place"
    assert both == "log-collector and node-exporter on every node take its place"


def test_databases_of_projects_are_named(tmp_path: Path) -> None:
    text = BACKENDS + "  net-db: {service_def: galera}\n"
    text += "  neutron-server: {service_def: neutron-server, mapping: {database: net-db, rpc: rpc}}\n"
    lines = of(tmp_path, on_three("database, rpc, net-db, neutron-server", f"{text}replicas: {{net-db: 3}}"))
    assert lines["services.net-db.service_def"].text == "net-db-mysqld, a Galera of its own (on node1, node2, node3)"
    mapping = lines["services.neutron-server.mapping.database"]
    assert mapping.text == "quorate:projects.neutron.mapping.database: net-db-mysqld"
    assert lines["services.neutron-server.mapping.rpc"].fate == "same"
    assert lines["replicas.net-db"].text == "3 instances of net-db-mysqld, a Galera of its own"


def test_what_places_nothing_is_said(tmp_path: Path) -> None:
    text = "nodes: {node1: {roles: [a]}, absent: {roles: [a]}}\nroles: {a: [etcd], b: [horizon]}\n"
    lines = of(tmp_path, f"{text}replicas: {{etcd: 1, horizon: 1}}\nbuilder: {{push: true}}\n")
    fates = {key: line.fate for key, line in lines.items()}
    assert fates == {
        "nodes.node1": "becomes",
        "nodes.absent": "refused",
        "roles.a.etcd": "left out",
        "roles.b.horizon": "left out",
        "replicas.etcd": "left out",
        "replicas.horizon": "refused",
        "builder": "left out",
    }


def test_the_command_prints_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yaml").write_text(on_three("calico-felix", "configs: {neutron: {dvr: false}}\n"))
    status, output = run(capsys, tmp_path / "t.yaml", "--nodes", "node1,node2,node3")
    assert status == 1
    assert {line["key"]: line["fate"] for line in output["lines"]} == {
        "nodes.node[1-3]": "becomes",
        "roles.all.calico-felix": "refused",
        "configs.neutron.dvr": "same",
    }
    assert {"not-built"} <= {finding["rule"] for finding in output["findings"]}
