"""Fuel-CCP topologies: the real ones are placed as Fuel-CCP placed them, and any one by the rules that it had.

tests/data/topologies holds five real topologies and what Fuel-CCP's own code made of each on 3 and 12 nodes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypedDict, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from blueprint.topology import (
    NamedService,
    NodeKey,
    Topology,
    place,
    read_topology,
    roles_by_node,
    services_by_node,
)
from blueprint.topology.definitions import catalogue
from tests.projects import RECORDS
from tests.topologies import BACKENDS, REAL, ROOT, numbered, on_three, placed, run


class GoldenService(TypedDict):
    kind: str
    hosts: list[str]
    replicas: int


class GoldenCase(TypedDict):
    topology: str
    cluster_nodes: int
    services: dict[str, GoldenService]


GOLDEN = cast("list[GoldenCase]", yaml.safe_load((REAL / "placement-golden.yaml").read_text())["cases"])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['topology']}-{case['cluster_nodes']}")
def test_real_topologies_are_placed_as_ccp_placed_them(case: GoldenCase, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = numbered(case["cluster_nodes"])
    status, output = run(capsys, REAL / case["topology"], "--nodes", ",".join(nodes))
    expected = {
        name: {"hosts": service["hosts"], "replicas": service["replicas"]} for name, service in case["services"].items()
    }
    assert output["services"] == expected
    assert list(output["services"]) == sorted(expected)
    assert status == 0
    kinds = {
        name: service.kind for name, service in place(read_topology(REAL / case["topology"]), nodes).services.items()
    }
    assert kinds == {name: service["kind"] for name, service in case["services"].items()}


def test_golden_file_covers_every_real_topology_here() -> None:
    cases = {(case["topology"], case["cluster_nodes"]) for case in GOLDEN}
    files = {file.name for file in REAL.glob("*.yaml")} - {"placement-golden.yaml"}
    assert cases == {(file, count) for file in files for count in (3, 12)}
    assert len(files) == 5


SINGLE = {"single-member", "cluster-size"}
WARNINGS = {
    "docs__monitoring_and_logging_1.yaml": set[str](),
    "tests__3galera_1comp.yaml": {"replaced-service", "implied-dependency", *SINGLE},
    "topology-example.yaml": {"replaced-service", *SINGLE},
    "topology-with-ceph-example.yaml": {"replaced-service", *SINGLE},
    "topology-with-stacklight-example.yaml": {"replaced-service", *SINGLE},
}


@pytest.mark.parametrize(("name", "rules"), WARNINGS.items())
def test_real_topologies_are_accepted_with_these_warnings(name: str, rules: set[str]) -> None:
    topology = read_topology(REAL / name)
    few, many = place(topology, numbered(3)), place(topology, numbered(12))
    assert {finding.rule for finding in few.findings} == rules
    assert {finding.rule for finding in many.findings} == rules | {"matched-by-prefix"}
    assert not few.refused
    assert not many.refused


# How CCP reads


def test_a_key_takes_names_by_prefix_unless_it_ends_in_a_dollar(tmp_path: Path) -> None:
    text = "nodes: {node1: {roles: [a]}, node2$: {roles: [b]}}\nroles: {a: [memcached], b: [nginx]}"
    placement = placed(tmp_path, text, nodes=21)
    assert placement.services["memcached"].hosts == ("node1", *[f"node{n}" for n in range(10, 20)])
    assert placement.services["nginx"].hosts == ("node2",)
    assert [f.key for f in placement.findings if f.rule == "matched-by-prefix"] == ["nodes.node1"]
    assert "node10, node11, node12, node13, node14, node15 and 4 more" in placement.findings[0].message


@pytest.mark.parametrize("key", ["ode1", "1", "node1$|x"])
def test_a_key_is_matched_from_the_beginning(key: str, tmp_path: Path) -> None:
    hosts = placed(tmp_path, f"nodes: {{'{key}': {{roles: [a]}}}}\nroles: {{a: [nginx]}}").services["nginx"].hosts
    assert hosts == (("node1",) if key.startswith("node1") else ())


def test_a_pattern_that_matches_whole_names_is_no_prefix_match(tmp_path: Path) -> None:
    placement = placed(tmp_path, "nodes: {node.*: {roles: [a]}}\nroles: {a: [memcached]}", nodes=12)
    assert placement.findings == ()


def test_two_roles_on_one_node_cannot_carry_two_replicas(tmp_path: Path) -> None:
    text = "nodes: {node1: {roles: [a, b]}}\nroles: {a: [memcached], b: [memcached]}\nreplicas: {memcached: 2}"
    rules = {finding.rule for finding in placed(tmp_path, text).findings}
    assert {"node-counted-twice", "too-many-replicas"} <= rules


def test_three_members_on_three_nodes_are_no_finding(tmp_path: Path) -> None:
    text = on_three(
        "database, rpc, notifications, etcd", BACKENDS + "replicas: {database: 3, rpc: 3, notifications: 3, etcd: 3}"
    )
    assert placed(tmp_path, text).findings == ()


FIVE, SEVEN = "{percona: {cluster_size: 5}}", "{percona: {cluster_size: 7}}"


@pytest.mark.parametrize(
    ("layers", "rules"),
    [
        (f"configs: {FIVE}", []),
        (f"services: {{database: {{configs: {FIVE}}}}}", []),
        (f"services: {{database: {{configs: {SEVEN}}}}}\nconfigs: {FIVE}", ["cluster-size"]),
        (f"nodes: {{node.*: {{configs: {FIVE}}}}}\nconfigs: {SEVEN}", []),
        (f"nodes: {{node.*: {{configs: {FIVE}}}, node1: {{roles: [], configs: {SEVEN}}}}}", ["cluster-size"]),
        (f"nodes: {{node1: {{roles: [], configs: {FIVE}}}}}\nconfigs: {FIVE}", []),
    ],
)
def test_cluster_size_comes_from_the_last_layer(layers: str, rules: list[str], tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "nodes: {'node.*': {roles: [all]}}\nroles: {all: [database, etcd]}\n"
        f"{BACKENDS}replicas: {{database: 5, etcd: 5}}"
    )
    findings = placed(tmp_path, f"!include base.yaml\n---\n{layers}", nodes=5).findings
    assert [finding.rule for finding in findings] == rules


def test_named_services_stand_under_their_own_names(tmp_path: Path) -> None:
    text = on_three(
        "keystone, keystone-db, memcached, etcd",
        BACKENDS + "  keystone-db: {service_def: galera}\n"
        "  keystone: {service_def: keystone, mapping: {database: keystone-db}}\n"
        "replicas: {keystone-db: 3, etcd: 3}",
    )
    placement = placed(tmp_path, text)
    assert placement.findings == ()
    assert placement.services["keystone-db"].definition == "galera"
    assert placement.services["keystone-db"].replicas == 3


def test_a_node_may_override_what_the_file_itself_brings(tmp_path: Path) -> None:
    text = (
        "nodes: {node.*: {roles: [a], configs: {percona: {cluster_size: 5}}}}\nroles: {a: [nginx]}\n"
        "configs: {percona: {cluster_size: 3}}"
    )
    assert placed(tmp_path, text).findings == ()


def test_a_named_service_may_bear_the_name_of_a_retired_definition(tmp_path: Path) -> None:
    assert placed(tmp_path, on_three("redis", "services: {redis: {service_def: memcached}}")).findings == ()


def test_a_backend_under_another_name_is_there(tmp_path: Path) -> None:
    rest = f"{BACKENDS}replicas: {{rpc: 3, etcd: 3}}\nconfigs: {{neutron: {{dvr: true}}}}\n"
    text = on_three("neutron-l3-agent-compute, rpc, etcd", rest)
    assert placed(tmp_path, text).findings == ()


def test_roles_and_services_of_each_node() -> None:
    topology = read_topology(REAL / "docs__monitoring_and_logging_1.yaml")
    nodes = ["node2", "node1", "spare"]
    assert roles_by_node(topology, nodes) == {
        "node2": {"stacklight-collector"},
        "node1": {"stacklight-backend", "stacklight-collector"},
        "spare": set(),
    }
    assert services_by_node(topology, nodes) == {
        "node2": {"stacklight-collector"},
        "node1": {"influxdb", "grafana", "stacklight-collector"},
        "spare": set(),
    }
    assert list(roles_by_node(topology, nodes)) == list(services_by_node(topology, nodes)) == nodes


# Data and documentation


def test_the_data_hangs_together() -> None:
    known = catalogue(RECORDS)
    names = set(known.services)
    rows = yaml.safe_load((ROOT / "blueprint" / "architecture" / "100.yaml").read_text())["rows"]
    architecture = {row["service"] for row in rows}
    assert len(names) == 65
    for name, definition in known.services.items():
        assert {*definition.needs, *definition.needs_local} <= names | set(known.abstractions), name
        assert {definition.architecture, definition.beside} <= {None, *architecture}, name
        assert not (definition.replaced_by and definition.use_instead), name
    for definitions in known.abstractions.values():
        assert set(definitions) <= names


@pytest.mark.parametrize(
    ("name", "row"),
    [
        *[(name, name) for name in ("keystone", "nova-api", "glance-registry", "placement-api", "rabbitmq")],
        *[(name, "mysqld") for name in ("galera", "mariadb", "database")],
        *[(name, "rabbitmq") for name in ("rpc", "notifications")],
        ("neutron-openvswitch-agent", "neutron-l2-agent"),
        ("grafana", "influxdb-grafana"),
        ("kibana", "elasticsearch-kibana"),
        *[(name, None) for name in ("memcached", "nova-consoleauth", "nova-libvirt", "keystone-db")],
        *[(name, None) for name in ("neutron-sriov-nic-agent", "neutron-l3-agent-compute", "calico-felix")],
    ],
)
def test_names_lead_to_rows_of_the_reference_architectures(name: str, row: str | None) -> None:
    assert catalogue(RECORDS).architecture_service(name) == row


# Properties

KEYS = ["node1", "node1$", "node[1-3]", "node(4|5|10)$", "node.*", "node[7-9]", "absent"]
SERVICES = ["keystone", "memcached", "etcd", "cron", "nova-libvirt", "database", "nonsense"]
ROLE_NAMES = ["a", "b", "c"]


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    some_roles = st.lists(st.sampled_from(ROLE_NAMES), max_size=3).map(tuple)
    some_services = st.lists(st.sampled_from(SERVICES), max_size=4).map(tuple)
    nodes = draw(st.dictionaries(st.sampled_from(KEYS), some_roles, max_size=4))
    return Topology(
        path=Path("t.yaml"),
        known=catalogue(RECORDS),
        nodes={key: NodeKey(re.compile(key), roles, {}) for key, roles in nodes.items()},
        roles=draw(st.dictionaries(st.sampled_from(ROLE_NAMES), some_services, max_size=3)),
        replicas=draw(st.dictionaries(st.sampled_from(SERVICES), st.integers(1, 6), max_size=3)),
        services={"database": NamedService("galera", {}, {})},
    )


SOME_NODES = st.lists(st.sampled_from(numbered(12)), unique=True)


@given(topologies(), SOME_NODES)
def test_a_node_that_no_key_matches_changes_nothing(topology: Topology, nodes: list[str]) -> None:
    assert place(topology, [*nodes, "spare1"]) == place(topology, nodes)


@given(topologies(), SOME_NODES)
def test_the_order_of_nodes_changes_nothing(topology: Topology, nodes: list[str]) -> None:
    assert place(topology, nodes[::-1]) == place(topology, nodes)


@given(topologies(), SOME_NODES)
def test_services_run_on_given_nodes_only_once_each_and_as_often_as_said(topology: Topology, nodes: list[str]) -> None:
    placement = place(topology, nodes)
    for name, service in placement.services.items():
        assert list(service.hosts) == sorted(set(service.hosts))
        assert set(service.hosts) <= set(nodes)
        expected = len(service.hosts) if service.kind == "DaemonSet" else topology.replicas.get(name, 1)
        assert service.replicas == expected
        too_many = service.kind != "DaemonSet" and name in topology.replicas and expected > len(service.hosts)
        assert too_many == any(
            f.rule == "too-many-replicas" and f.key == f"replicas.{name}" for f in placement.findings
        )


@given(topologies(), SOME_NODES)
def test_a_node_runs_a_service_exactly_if_one_of_its_roles_names_it(topology: Topology, nodes: list[str]) -> None:
    roles, services = roles_by_node(topology, nodes), services_by_node(topology, nodes)
    for node in nodes:
        named = {service for role in roles[node] for service in topology.roles.get(role, ())}
        assert services[node] == named - {"nonsense"}
