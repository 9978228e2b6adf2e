"""Tests of stacks whose placement is that of a Fuel-CCP topology."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.openstack.projects.ccp import CcpService
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.topology.definitions import catalogue
from proof.expected import expected_state
from tests.components.test_cloud import cloud
from tests.projects import RECORDS
from tests.stacks import ROOT, external_ceph, parsed, server
from tests.topologies import BACKENDS

TOPOLOGIES = Path("topologies")
BUILT = TOPOLOGIES / "stack" / "three-nodes.yaml"
"""Fuel-CCP's example without the services that a stack refuses."""
INGRESS = {"domain": "cloud.example.org", "className": "nginx"}  # without one, Ironic is refused
ROWS = ROOT / "blueprint" / "architecture" / "100.yaml"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with topologies: a stack file names files of its project only."""
    shutil.copytree(ROOT / "tests" / "data" / "topologies", tmp_path / TOPOLOGIES)
    monkeypatch.chdir(tmp_path)


def stack(topology: Path, nodes: int = 3, **more: Any) -> dict[str, Any]:
    return {
        "profile": "lab",
        "architecture": "100",
        "topology": os.path.relpath(topology),
        "servers": [
            server("master[1-3]", ["master"], "10.20.0.1"),
            server(f"node[1-{nodes}]", [], "10.20.1.1"),
        ],
        **more,
    }


def pools_of(result: Plan) -> dict[str, set[str]]:
    """Returns the nodes of each service's pools, by service."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for service in result.services:
        for node in result.nodes:
            if node.pool in service.pools:
                nodes[service.name].add(node.name)
    return nodes


def test_services_may_run_where_the_topology_says() -> None:
    nodes = pools_of(plan(parsed(stack(BUILT))))
    assert nodes["keystone"] == {"node1"}
    assert nodes["mysqld"] == {"node1", "node2", "node3"}
    assert nodes["rabbitmq"] == {"node1", "node2", "node3"}
    assert nodes["nova-compute"] == {"node2", "node3"}
    assert nodes["neutron-l2-agent"] == {"node1", "node2", "node3"}
    assert nodes["placement-api"] == nodes["nova-api"]
    assert nodes["cinder-api"] == {"node1"}
    assert "radosgw" not in nodes


def test_counts_are_the_topology_s() -> None:
    counts = {service.name: service.instances for service in plan(parsed(stack(BUILT))).services}
    assert (counts["mysqld"], counts["rabbitmq"], counts["keystone"]) == (3, 3, 1)
    assert (counts["nova-compute"], counts["neutron-l2-agent"]) == (2, 3)
    assert counts["placement-api"] == counts["nova-api"] == 1


def test_companions_run_where_the_topology_places_them() -> None:
    result = plan(parsed(stack(BUILT)))
    pools = {each.name: each.pools for each in result.companions}
    assert {node.name for node in result.nodes if node.pool in pools["heat-engine"]} == {"node1"}
    assert next(each.instances for each in result.companions if each.name == "heat-engine") == 1


def test_a_companion_that_the_topology_does_not_place_is_left_out(tmp_path: Path) -> None:
    result = plan(parsed(stack(written(tmp_path, "keystone, nova-api, nova-conductor, nova-scheduler"))))
    assert {each.name for each in result.companions} == {"proxysql", "mysqld-exporter"}


def test_a_companion_needs_the_row_that_it_accompanies(tmp_path: Path) -> None:
    document = yaml.safe_load(ROWS.read_text(encoding="utf-8"))
    document["rows"] = [row for row in document["rows"] if row["service"] != "cinder-volume"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    found = problems_of(written(tmp_path, "cinder-backup"), architecture="mine.yaml")
    said = "architecture 100 has no row for cinder-volume, which cinder-backup accompanies; add one, or take"
    assert f"quorate:topology (roles.all): {said} cinder-backup out" in found


def test_a_key_without_an_end_takes_node10_too() -> None:
    result = plan(parsed(stack(BUILT, nodes=12)))
    assert pools_of(result)["keystone"] == {"node1", "node10", "node11", "node12"}
    assert any("node4 runs no service" in warning for warning in result.warnings)


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
    config = stack(BUILT)
    config["servers"][1]["roles"] = ["controller"]
    with pytest.raises(InvalidStackError, match=r"quorate:servers \(node1\).roles: a topology gives all"):
        plan(parsed(config))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError, match=r"quorate:topology.*no\.yaml"):
        plan(parsed(stack(tmp_path / "no.yaml")))


# Every service of a topology is built, is a part of one that is, or is refused by name


def problems_of(topology: Path, **more: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        plan(parsed(stack(topology, **more)))
    return [str(problem) for problem in caught.value.problems]


def written(folder: Path, services: str, rest: str = "") -> Path:
    """A topology whose three nodes all carry these services, and Fuel-CCP's backends."""
    roles = f"{{all: [{services}], backends: [database, rpc, notifications]}}"
    path = folder / "topology.yaml"
    text = f"nodes: {{'node[1-3]': {{roles: [all, backends]}}}}\nroles: {roles}\n{BACKENDS}{rest}"
    path.write_text(text, encoding="utf-8")
    return path


NEEDED = {
    "cinder": ["cinder-api"],
    "designate": ["designate-api", "designate-central", "designate-mdns"],
    "heat": ["heat-api", "heat-api-cfn", "heat-engine"],
    "ironic": ["ironic-api", "ironic-conductor"],
    "neutron": ["neutron-server"],
    "nova": ["nova-api", "nova-conductor", "nova-scheduler"],
    "openvswitch": ["neutron-server"],
}
"""Services without which the others of their project are refused, by the beginning of the others' names."""


@pytest.mark.parametrize("name", catalogue(RECORDS).services)
def test_no_service_vanishes(name: str, tmp_path: Path) -> None:
    """A placed service is in the plan, beside a service of the plan, retired with a warning, or refused."""
    definition = catalogue(RECORDS).services[name]
    whole = [other for other, each in catalogue(RECORDS).services.items() if each.architecture == definition.beside]
    needed = [
        other for prefix, others in NEEDED.items() if name.startswith(prefix) for other in others if other != name
    ]
    path = written(tmp_path, ", ".join([name, *(whole[:1] if definition.beside else []), *needed]))
    if name in RECORDS.without:
        (found,) = problems_of(path)
        assert found.startswith(f"quorate:topology (roles.all): {name} is only in stacks that ask for it; ")
    elif refusal := definition.not_built or definition.use_instead:
        about = [text for text in problems_of(path) if text.startswith(f"quorate:topology (roles.all): {name} is ")]
        assert len(about) == 1
        assert refusal in about[0]
    else:
        result = plan(parsed(stack(path, ingress=INGRESS)))
        if definition.not_needed or definition.agents:
            reason = definition.not_needed or f"{definition.agents[0]} "
            assert any(text.startswith(f"topology: {name} is left out: {reason}") for text in result.warnings)
            return
        runs = {service.name for service in (*result.services, *result.companions)}
        told = any(f"{name} is replaced by {definition.replaced_by}" in warning for warning in result.warnings)
        assert told or definition.architecture in runs or definition.beside in runs or name in runs


@pytest.mark.parametrize("name", sorted({name for names in NEEDED.values() for name in names}))
def test_a_service_that_others_need_is_missed(name: str, tmp_path: Path) -> None:
    document = yaml.safe_load(BUILT.read_text(encoding="utf-8"))
    document["roles"]["controller"] += [*NEEDED["designate"], *NEEDED["ironic"]]
    document["roles"]["controller"].remove(name)
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    (found,) = problems_of(path, ingress=INGRESS)
    assert found.startswith("quorate:topology: ")
    assert found.endswith(f" cannot be configured without {name}; add {name}, or remove them")


@pytest.mark.parametrize("name", catalogue(RECORDS).services)
def test_the_data_says_one_thing_of_each_service(name: str) -> None:
    definition: CcpService = catalogue(RECORDS).services[name]
    said = [
        definition.architecture,
        definition.beside,
        definition.not_needed,
        definition.not_built,
        definition.use_instead,
        definition.agents or None,
    ]
    gone = {"nova-consoleauth", "designate-pool-manager", "designate-zone-manager"}
    assert sum(each is not None for each in said) + definition.companion == (0 if name in gone else 1)
    assert definition.replaced_by or definition.companion or any(said)


def test_all_that_is_not_built_is_said_at_once() -> None:
    everything = written(TOPOLOGIES, "designate-sink, calico-felix")
    found = problems_of(everything, profile="production")
    names = ["calico-felix", "designate-sink"]
    about = [text for text in found if " is not built yet; remove it from the topology: " in text]
    assert [text.split(" ")[2] for text in about] == names
    assert about[0].startswith(
        "quorate:topology (roles.all): calico-felix is not built yet; remove it from the topology: "
        "neutron-openvswitch-agent connects virtual machines; "
    )


@pytest.mark.parametrize("members", [1, 3])
def test_etcd_of_a_topology_is_left_out_with_a_warning(members: int, tmp_path: Path) -> None:
    document = yaml.safe_load(BUILT.read_text(encoding="utf-8"))
    document["roles"]["controller"].append("etcd")
    document["replicas"] = {**document.get("replicas", {}), "etcd": members}
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with_etcd, without = plan(parsed(stack(path))), plan(parsed(stack(BUILT)))
    assert with_etcd.services == without.services
    (told,) = set(with_etcd.warnings) - set(without.warnings)
    assert told.startswith("topology: etcd is left out: MariaDB and RabbitMQ do not use it here")


def test_services_that_store_in_ceph_need_another_store() -> None:
    def told(**options: Any) -> list[str]:
        projects = {"cinder": {"options": {"cinder.conf": {"DEFAULT": options}}}} if options else {}
        return [text for text in plan(parsed(stack(BUILT, projects=projects))).warnings if "Ceph" in text]

    images, volumes = told()
    assert "glance-api keeps images in the file system of its pod" in images
    assert images.endswith(
        "write another store in quorate:projects.glance.options.glance-api.conf.DEFAULT.enabled_backends"
    )
    assert volumes.startswith("topology: cinder-volume stores in Ceph, which a topology does not place; write another")
    assert told(enabled_backends="nfs") == [images]


def test_an_external_ceph_of_a_topology_is_that_of_the_stack(tmp_path: Path) -> None:
    document = yaml.safe_load(BUILT.read_text(encoding="utf-8"))
    ceph = external_ceph()["external"]
    document["configs"] = {"ceph": {"fsid": ceph["fsid"], "mon_host": ",".join(ceph["monitors"])}}
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    made = plan(parsed(stack(path)))
    assert made.settings.external_ceph
    assert made.settings.external_ceph.monitors == tuple(ceph["monitors"])
    assert not [text for text in made.warnings if "stores in Ceph" in text]
    other = plan(parsed(stack(path, ceph=external_ceph(monitors=["mon1"])))).settings.external_ceph
    assert other
    assert other.monitors == ("mon1",), "the stack file has precedence"
    document["roles"]["controller"].append("radosgw")
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    (said,) = (text for text in problems_of(path) if "radosgw" in text)
    assert said.endswith(
        "radosgw is not run with an external Ceph; remove it: for its gateway, write quorate:ceph.external.objectStore"
    )


def test_a_service_under_a_name_of_its_own_is_refused_by_both_names(tmp_path: Path) -> None:
    path = written(tmp_path, "metal", "  metal: {service_def: calico-felix}\n")
    assert any("(roles.all): metal (calico-felix) is not built yet; " in text for text in problems_of(path))


def test_a_part_is_refused_where_its_service_is_not(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(
        "nodes: {node1: {roles: [all]}, 'node[1-3]': {roles: [some]}}\n"
        "roles: {all: [nova-compute], some: [nova-libvirt]}\n",
        encoding="utf-8",
    )
    said = "nova-libvirt runs on the nodes of nova-compute only, which node2, node3 does not carry; place both there"
    assert any(text.startswith(f"quorate:topology (roles.some): {said}") for text in problems_of(path))


def test_a_service_that_the_architecture_lacks_is_refused(tmp_path: Path) -> None:
    document = yaml.safe_load(ROWS.read_text(encoding="utf-8"))
    document["rows"] = [row for row in document["rows"] if row["service"] != "cinder-volume"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    found = problems_of(BUILT, architecture="mine.yaml")
    assert (
        len([text for text in found if "has no row for cinder-volume; add one, or remove cinder-volume" in text]) == 1
    )


def test_warnings_ask_for_nothing_that_is_refused_and_tell_what_becomes_one() -> None:
    warnings = plan(parsed(stack(BUILT))).warnings
    assert not [text for text in warnings if "etcd" in text or "no server has the role" in text]
    assert "topology: notifications, rpc run as one service, rabbitmq, on the nodes of all of them" in warnings


# Databases of single projects: Galera clusters beside the stack's own


GALERAS = """
services:
  database: {service_def: galera}
  neutron-db: {service_def: galera}
  compute-db: {service_def: mariadb}
  rpc: {service_def: rabbitmq}
  notifications: {service_def: rabbitmq}
  neutron-server: {service_def: neutron-server, mapping: {database: neutron-db}}
  nova-api: {service_def: nova-api, mapping: {database: compute-db}}
  nova-conductor: {service_def: nova-conductor, mapping: {database: CONDUCTOR}}
replicas: {database: 3, rpc: 3, notifications: 3, neutron-db: 3}
configs: {percona: {cluster_size: 3}}
"""


def with_galeras(folder: Path, conductor: str = "compute-db", text: str = GALERAS) -> Path:
    path = folder / "topology.yaml"
    apis = "keystone, memcached, glance-api, nova-api, nova-conductor, nova-scheduler, neutron-server"
    roles = (
        f"nodes: {{'node[1-3]$': {{roles: [all]}}, 'node[4-6]$': {{roles: [data]}}}}\n"
        f"roles: {{all: [{apis}, database, rpc, notifications, compute-db], data: [neutron-db]}}\n"
    )
    path.write_text(roles + text.replace("CONDUCTOR", conductor), encoding="utf-8")
    return path


def test_a_topology_gives_projects_databases_of_their_own(tmp_path: Path) -> None:
    result = plan(parsed(stack(with_galeras(tmp_path), nodes=6)))
    clusters = {each.name: each for each in result.companions if each.definition == "mysqld"}
    assert {name: each.instances for name, each in clusters.items()} == {"neutron-db-mysqld": 3, "compute-db-mysqld": 1}
    places = {
        each.name: {node.name for node in result.nodes if node.pool in each.pools}
        for each in (*result.services, *result.companions)
    }
    assert places["mysqld"] == places["compute-db-mysqld"] == {"node1", "node2", "node3"}
    own = {"neutron-db-mysqld", "neutron-db-proxysql", "neutron-db-mysqld-exporter"}
    assert {frozenset(places[name]) for name in own} == {frozenset({"node4", "node5", "node6"})}
    mapping = {name: dict(each.mapping) for name, each in result.settings.projects.overrides.items()}
    compute = {"database": "compute-db-mysqld"}
    assert mapping == {"neutron": {"database": "neutron-db-mysqld"}, "nova": compute, "placement": compute}
    assert not [text for text in result.warnings if "run as one service, mysqld" in text]


def test_the_proof_expects_the_databases_where_the_topology_places_them(tmp_path: Path) -> None:
    rows = {each.service: each for each in expected_state(parsed(stack(with_galeras(tmp_path), nodes=6))).rows}
    assert rows["neutron-db-mysqld"].nodes == {"node4", "node5", "node6"}
    assert (rows["neutron-db-mysqld"].instances, rows["compute-db-mysqld"].instances) == (3, 1)
    assert rows["mysqld"].nodes == {"node1", "node2", "node3"}


def test_the_backup_of_a_database_runs_where_its_member_may_run(tmp_path: Path) -> None:
    result = plan(parsed(stack(with_galeras(tmp_path), nodes=6)))
    pools = {each.name: set(each.pools) for each in (*result.services, *result.companions)}
    jobs = {each.inputs["metadata"]["name"]: each.inputs for each in cloud(result) if each.kind == "CronJob"}
    for name in ("mysqld", "neutron-db-mysqld"):
        job = jobs[f"{name}-backup"]
        affinity = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert set(term["matchExpressions"][0]["values"]) == pools[name]


def test_the_stack_file_has_precedence_over_the_topology(tmp_path: Path) -> None:
    more = {
        "services": {"neutron-db-mysqld": {"definition": "mysqld", "image": "registry/mariadb:1"}},
        "projects": {"nova": {"mapping": {"database": "neutron-db-mysqld"}}},
    }
    result = plan(parsed(stack(with_galeras(tmp_path), nodes=6, **more)))
    (cluster,) = [each for each in result.companions if each.name == "neutron-db-mysqld"]
    assert (cluster.instances, cluster.override.image) == (3, "registry/mariadb:1")
    assert result.settings.projects.overrides["nova"].mapping == {"database": "neutron-db-mysqld"}


def test_services_of_a_project_with_several_databases_are_refused(tmp_path: Path) -> None:
    found = problems_of(with_galeras(tmp_path, conductor="neutron-db"), servers=stack(BUILT, nodes=6)["servers"])
    said = "all services of nova share one database, and they are mapped to several: nova-api to compute-db; "
    key = "quorate:topology (services.nova-api.mapping.database)"
    assert f"{key}: {said}nova-conductor to neutron-db; map them to the same one" in found


def test_a_database_with_a_name_that_a_stack_cannot_have_is_refused(tmp_path: Path) -> None:
    path = with_galeras(tmp_path, text=GALERAS.replace("neutron-db", "neutron_db"))
    path.write_text(path.read_text().replace("data: [neutron-db]", "data: [neutron_db]"))
    found = problems_of(path, servers=stack(BUILT, nodes=6)["servers"])
    said = "neutron_db is not a name for a further Galera; write up to 25 lower-case letters, digits and '-'"
    assert f"quorate:topology (services.neutron_db): {said}" in found


def test_databases_that_no_project_is_mapped_to_run_as_one(tmp_path: Path) -> None:
    text = GALERAS.replace("mapping: {database: compute-db}", "mapping: {}").replace("CONDUCTOR", "database")
    result = plan(parsed(stack(with_galeras(tmp_path, text=text), nodes=6)))
    assert "topology: compute-db, database run as one service, mysqld, on the nodes of all of them" in result.warnings
