"""Files of the services beside the core: Prometheus, Alertmanager, Grafana, OpenSearch and Fluentd."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from openstack import configuration
from openstack.config.formats import public_text, secret_text
from tests.stacks import STACKS, full_size, parsed

STORE = "influxdb-grafana"


@pytest.fixture(scope="module")
def large() -> Plan:
    services = {"mysqld": {"replicas": 5}}
    return plan(parsed(full_size("1000", computes=4, controllers=32, services=services)))


@pytest.fixture(scope="module")
def single() -> Plan:
    return plan(load_file(STACKS["one-server"]))


def text(made: Plan, service: str, name: str) -> str:
    """Returns the text of a file that is written to a ConfigMap."""
    (file,) = [each for each in configuration.of_service(made, service) if each.name == name]
    return public_text(file) or ""


def document(made: Plan, service: str, name: str) -> Any:
    return yaml.safe_load(text(made, service, name))


def test_every_declared_member_is_a_target_by_its_stable_name(large: Plan) -> None:
    jobs = {each["job_name"]: each for each in document(large, STORE, "prometheus.yml")["scrape_configs"]}
    galera = [each["targets"] for each in jobs["galera"]["static_configs"]]
    assert galera == [[f"mysqld-{number}.mysqld-members.openstack.svc:3306"] for number in range(5)]
    assert [each["labels"]["member"] for each in jobs["rabbitmq"]["static_configs"]] == [
        f"rabbitmq-{number}" for number in range(3)
    ]
    assert len(jobs["prometheus"]["static_configs"]) == 3
    masters = {each["labels"]["member"]: each["targets"] for each in jobs["etcd"]["static_configs"]}
    assert masters == {node.name: [f"{node.address}:2381"] for node in large.masters}


def test_members_of_ovns_databases_are_targets_too() -> None:
    made = plan(parsed(full_size("100", networks={"backend": "ovn"})))
    jobs = {each["job_name"]: each for each in document(made, STORE, "prometheus.yml")["scrape_configs"]}
    for name, port in (("ovn-nb", 9476), ("ovn-sb", 9477)):
        targets = [each["targets"] for each in jobs[name]["static_configs"]]
        assert targets == [[f"{name}-{number}.{name}-members.openstack.svc:{port}"] for number in range(3)]
        assert thresholds(made, name)["QuorumLost", "critical"] == "< 2"


def test_the_disks_of_nodes_with_data_are_targets(large: Plan) -> None:
    jobs = {each["job_name"]: each for each in document(large, STORE, "prometheus.yml")["scrape_configs"]}
    assert jobs["node"]["scrape_interval"] == "60s"
    assert "scrape_interval" not in jobs["disks"], "every 15 s"
    assert jobs["disks"]["params"] == {"collect[]": ["diskstats"]}
    services = {each["labels"]["node"]: each["labels"]["services"] for each in jobs["disks"]["static_configs"]}
    by_pool = {node.pool: services.get(node.name) for node in large.nodes}
    assert {pool: found for pool, found in by_pool.items() if found} == {
        "master": "etcd",
        "rabbitmq": "rabbitmq",
        "mysqld": "mysqld",
        "ceph-mon": "ceph-mon",
        "storage": "ceph-osd",
        "elasticsearch-kibana": "elasticsearch-kibana",
        "influxdb-grafana": "influxdb-grafana",
        "lma-aggregator": "lma-aggregator",
    }
    targets = {each["labels"]["node"]: each["targets"] for each in jobs["disks"]["static_configs"]}
    assert targets == {node.name: [f"{node.address}:9100"] for node in large.nodes if node.name in services}


def test_of_disks_only_what_alerts_read_is_kept(large: Plan) -> None:
    jobs = {each["job_name"]: each for each in document(large, STORE, "prometheus.yml")["scrape_configs"]}
    (keep,) = jobs["disks"]["metric_relabel_configs"]
    assert (keep["action"], keep["source_labels"]) == ("keep", ["__name__"])
    (group,) = [each for each in document(large, STORE, "alerts.yml")["groups"] if each["name"] == "disks"]
    read = {word for rule in group["rules"] for word in re.findall(r"node_disk_\w+", rule["expr"])}
    assert set(keep["regex"].split("|")) == read


def test_a_new_compute_changes_no_file_of_prometheus() -> None:
    """Nodes are found by DNS: a list of them would restart Prometheus with every server."""
    few, more = (plan(parsed(full_size("1000", computes=number))) for number in (4, 5))
    for name in ("prometheus.yml", "alerts.yml"):
        assert text(few, STORE, name) == text(more, STORE, name)


def test_prometheus_needs_no_account_of_the_kubernetes_api(large: Plan) -> None:
    assert "kubernetes_sd" not in text(large, STORE, "prometheus.yml")


def test_every_alertmanager_gets_every_alert_and_knows_the_others() -> None:
    two = plan(parsed(full_size("100", services={"nagios": {"replicas": 2}})))
    (managers,) = document(two, STORE, "prometheus.yml")["alerting"]["alertmanagers"]
    (records,) = managers["dns_sd_configs"]
    name = "nagios-members.openstack.svc.cluster.local."
    assert records == {"names": [name], "type": "A", "port": 9093, "refresh_interval": "5s"}
    assert "--cluster.peer=nagios-members.openstack.svc:9094" in text(two, "nagios", "alertmanager-start.sh")


def test_a_single_alertmanager_listens_for_no_other(single: Plan) -> None:
    start = text(single, "nagios", "alertmanager-start.sh")
    assert start.endswith("--cluster.listen-address=\n")
    assert "peer" not in start


def thresholds(made: Plan, quorum: str) -> dict[tuple[str, str], str]:
    """The query of each alert of a loss, by name and severity."""
    (group,) = [each for each in document(made, STORE, "alerts.yml")["groups"] if each["name"] == quorum]
    losses = [each for each in group["rules"] if each.get("alert", "").startswith("Quorum")]
    return {(each["alert"], each["labels"]["severity"]): each["expr"].partition("} ")[2] for each in losses}


def test_alerts_follow_from_the_members_of_the_plan(large: Plan, single: Plan) -> None:
    five = thresholds(large, "galera")
    assert five["QuorumMemberLost", "critical"] == "== 3"
    assert five["QuorumMemberLost", "warning"].startswith("> 3 and ")
    assert five["QuorumMemberLost", "warning"].endswith("< 5")
    assert five["QuorumLost", "critical"] == "< 3"
    three = thresholds(large, "rabbitmq")
    assert three == {
        ("QuorumMemberSilent", "info"): "< 3",
        ("QuorumMemberLost", "critical"): "== 2",
        ("QuorumLost", "critical"): "< 2",
    }
    assert thresholds(single, "galera") == {("QuorumLost", "critical"): "< 1"}, "a single member is lost as a whole"


def test_passwords_are_in_no_config_map(large: Plan) -> None:
    exporter = {file.name: file for file in configuration.of_service(large, "mysqld-exporter")}
    assert public_text(exporter["mysqld-exporter.cnf"]) is None
    grafana = {file.name: file for file in configuration.of_service(large, "grafana")}
    assert [name for name, file in grafana.items() if public_text(file) is None] == ["admin-password", "secret-key"]
    assert "admin_password = $__file{/etc/grafana/admin-password}" in (public_text(grafana["grafana.ini"]) or "")
    (clouds,) = configuration.of_service(large, "openstack-exporter")
    assert public_text(clouds) is None
    cloud = yaml.safe_load(secret_text(clouds, "<{}>".format) or "")["clouds"]["openstack"]
    assert cloud["auth"]["password"].startswith("<keystone/")


def test_the_exporter_has_an_account_of_its_own_without_privileges(large: Plan) -> None:
    (initial,) = [each for each in configuration.of_service(large, "mysqld") if each.name == "initial.sql"]
    statements = secret_text(initial, "<{}>".format) or ""
    assert "CREATE USER metrics@'%' IDENTIFIED BY '<mysqld-exporter/database>';" in statements
    assert "metrics" not in "".join(line for line in statements.splitlines() if line.startswith("GRANT"))


def test_members_of_opensearch_elect_their_first_manager_among_all(large: Plan, single: Plan) -> None:
    store = document(large, "elasticsearch-kibana", "opensearch.yml")
    names = [f"elasticsearch-kibana-{number}" for number in range(3)]
    assert store["cluster.initial_cluster_manager_nodes"] == names
    assert store["discovery.seed_hosts"] == [f"{name}.elasticsearch-kibana-members.openstack.svc" for name in names]
    assert "discovery.type" not in store
    alone = document(single, "elasticsearch-kibana", "opensearch.yml")
    assert alone["discovery.type"] == "single-node"
    assert "cluster.initial_cluster_manager_nodes" not in alone
    half = single.sizes["elasticsearch-kibana"].limit_memory_mi // 2
    assert text(single, "elasticsearch-kibana", "heap.options") == f"-Xms{half}m\n-Xmx{half}m\n"


def test_the_dashboard_shows_every_quorum(large: Plan) -> None:
    dashboard = json.loads(text(large, "grafana", "quorums.json"))
    queries = [panel["targets"][0]["expr"] for panel in dashboard["panels"]]
    assert {query.partition('quorum="')[2].rstrip('"}') for query in queries} == {
        "galera",
        "rabbitmq",
        "ceph-mon",
        "elasticsearch-kibana",
        "etcd",
    }
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(queries) == 10
    steps = dashboard["panels"][0]["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [step["value"] for step in steps] == [None, 3, 5]
    sources = document(large, "grafana", "prometheus.yaml")["datasources"]
    assert [each["isDefault"] for each in sources] == [True, False, False]


def test_logs_go_from_every_node_over_the_aggregator_to_opensearch(large: Plan) -> None:
    collector, aggregator = (text(large, name, "fluentd.conf") for name in ("log-collector", "lma-aggregator"))
    assert "host lma-aggregator-0.lma-aggregator-members.openstack.svc" in collector
    assert "elasticsearch-kibana-2.elasticsearch-kibana-members.openstack.svc:9200" in aggregator
    for each in (collector, aggregator):
        assert "overflow_action block" in each
        assert "retry_forever true" in each


def test_agents_run_on_every_node_and_their_number_is_not_set() -> None:
    config = full_size("100", services={"node-exporter": {"replicas": 3}})
    with pytest.raises(InvalidStackError, match=r"services.node-exporter.replicas: it runs once on every node"):
        plan(parsed(config))
    made = plan(parsed(full_size("100")))
    for agent in (each for each in made.companions if each.every_node):
        assert agent.instances == len(made.nodes)
        assert [name for name, each in made.workloads if each.name == agent.name] == [agent.name], "one DaemonSet"
        assert {each.node for each in made.assignment if each.service == agent.name} == {n.name for n in made.nodes}
