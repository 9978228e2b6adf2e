"""Who may connect to whom by the NetworkPolicies, compared with who must by the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import Any, cast

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import further_clusters
from blueprint.stackfile.loader import load_file
from components.openstack import network_policies
from tests.components.test_cloud import cloud
from tests.projects import PROCESSES, RECORDS
from tests.recording import Recorded
from tests.stacks import STACKS, full_size, own_galera, parsed, two_brokers

NAME, PROJECT = "app.kubernetes.io/name", "app.kubernetes.io/component"
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")
HOST = re.compile(r"([a-z0-9-]+)\.openstack\.svc(?::(\d+)|\W{1,12}port\W{1,3}(\d+))?")
"""A Service's name, and the port behind it, as `host:port` or as an option `port` that follows."""
_OF_RABBITMQ: Mapping[str, tuple[int, ...]] = {
    "rabbitmq": (4369, 6000, 6500, 25672),
    "cinder-messaging": (15672,),
    "cinder-notifications": (15672,),
    "heat-messaging": (15672,),
    "heat-notifications": (15672,),
    "neutron-messaging": (15672,),
    "neutron-notifications": (15672,),
    "nova-messaging": (15672,),
    "nova-notifications": (15672,),
    "influxdb-grafana": (15692,),
}
ELSEWHERE: Mapping[tuple[str, str], tuple[int, ...]] = {
    **{(galera, f"{galera}-members"): (4444, 4567, 4568, 9200) for galera in ("mysqld", "neutron-mysqld")},
    ("neutron-metadata-agent", "nova-api"): (8775,),
    ("ceph-mon", "ceph-mon-members"): (3300, 6789),
    ("elasticsearch-kibana", "elasticsearch-kibana-members"): (9300,),
    ("influxdb-grafana", "nagios-members"): (9093,),
    ("influxdb-grafana", "node-exporter-members"): (9100,),
    ("nagios", "nagios-members"): (9094,),
    **{
        (client.replace("rabbitmq", broker), f"{broker}-members"): ports
        for broker in ("rabbitmq", "neutron-rabbitmq", "events-rabbitmq")
        for client, ports in _OF_RABBITMQ.items()
    },
}
"""Ports of connections whose configuration gives only the host: a program's own default, or another option."""
ASKS_FOR = {
    ("influxdb-grafana", "mysqld"): "mysqld-exporter",
    ("influxdb-grafana", "neutron-mysqld"): "neutron-mysqld-exporter",
}
"""Clients that only name a server, by the process that connects to it for them."""
APIS = {
    ("keystone", 5000), ("glance-api", 9292), ("placement-api", 8780), ("nova-api", 8774), ("neutron-server", 9696),
    ("cinder-api", 8776), ("horizon", 8080), ("radosgw", 7480), ("grafana", 3000), ("opensearch-dashboards", 5601),
    ("heat-api", 8004), ("heat-api-cfn", 8000), ("nova-novncproxy", 6080),
}  # fmt: skip
"""What users and operators connect to from outside of the cluster, by process and port of its pods."""


@dataclass(frozen=True)
class Pods:
    """Pods of a workload or of a job."""

    resource: Recorded

    @property
    def name(self) -> str:
        return self.labels[NAME]

    @property
    def labels(self) -> dict[str, str]:
        return self.resource.inputs["spec"]["template"]["metadata"]["labels"]

    @property
    def spec(self) -> dict[str, Any]:
        return self.resource.inputs["spec"]["template"]["spec"]

    @property
    def on_host_network(self) -> bool:
        return bool(self.spec.get("hostNetwork"))

    @property
    def sources(self) -> set[str]:
        """The ConfigMaps and Secrets that the pods read."""
        volumes: list[dict[str, Any]] = self.spec.get("volumes", [])
        maps = {volume["configMap"]["name"] for volume in volumes if _is_made(volume)}
        return maps | {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}

    def number(self, port: str | float) -> int:
        """The number of a container's port."""
        ports = (each for container in self.spec["containers"] for each in container.get("ports", []))
        return int(next(each["containerPort"] for each in ports if each["name"] == port))


class Network:
    """The pods of a stack, its Services, and its NetworkPolicies read as Kubernetes reads them."""

    def __init__(self, made: Plan) -> None:
        self.made = made
        self.resources = cloud(made)
        self.pods = [Pods(each) for each in self.resources if each.kind in WORKLOADS]
        self.policies = [each for each in self.resources if each.kind == "NetworkPolicy"]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The content of each ConfigMap and Secret."""
        found = (each for each in self.resources if each.kind in ("ConfigMap", "Secret"))
        return {each.inputs["metadata"]["name"]: "\n".join(_strings(each.inputs)) for each in found}

    @cached_property
    def required(self) -> set[tuple[str, str, int]]:
        """Connections that files configure: client, server and port of the server's pods."""
        found = set(self._required())
        return {(ASKS_FOR.get((client, server), client), server, port) for client, server, port in found}

    def _required(self) -> Iterator[tuple[str, str, int]]:
        for client in self.pods:
            for text in (self.texts[name] for name in client.sources):
                for host, *ports in HOST.findall(text):
                    written = next((int(port) for port in ports if port), None)
                    numbers = (written,) if written else ELSEWHERE[client.name, host]
                    yield from ((client.name, *self.behind(host, number)) for number in numbers)

    def behind(self, host: str, number: int) -> tuple[str, int]:
        """The workload behind a Service, and the port of its pods."""
        (service,) = (each for each in self.resources if each.inputs.get("kind") == "Service" and _named(each, host))
        (server,) = (each for each in self.pods if _matches({"matchLabels": service.inputs["spec"]["selector"]}, each))
        ports = [each for each in service.inputs["spec"]["ports"] if each["port"] == number]
        # A Service of members leads to their addresses, so ports that it does not name can be reached too.
        return server.name, server.number(ports[0]["targetPort"]) if ports else number

    def of(self, name: str) -> Pods:
        return next(each for each in self.pods if each.name == name)

    def admits(self, client: Pods, server: Pods, port: int) -> bool:
        """Whether every pod of the client may connect to a port of the server's pods."""
        limits = [each.inputs["spec"] for each in self.policies if _matches(each.inputs["spec"]["podSelector"], server)]
        if server.on_host_network or not limits:
            return True
        rules = [rule for each in limits for rule in each.get("ingress", []) if _has(rule, port)]
        return any("from" not in rule or self._is_among(client, rule["from"]) for rule in rules)

    def _is_among(self, client: Pods, peers: list[dict[str, Any]]) -> bool:
        if not client.on_host_network:
            return any("podSelector" in peer and _matches(peer["podSelector"], client) for peer in peers)
        blocks = [ip_network(peer["ipBlock"]["cidr"]) for peer in peers if "ipBlock" in peer]
        return all(any(ip_address(node.address) in block for block in blocks) for node in self.made.nodes)

    def clients(self, server: str, port: int) -> set[str]:
        """The names of all pods that may connect to a port."""
        return {each.name for each in self.pods if self.admits(each, self.of(server), port)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _strings(each)
    elif isinstance(value, dict):
        yield from _strings(list(cast("dict[str, Any]", value).values()))


def _is_made(volume: Mapping[str, Any]) -> bool:
    """Whether a volume is a ConfigMap that exists in every stack; one with values for single nodes may not."""
    return "configMap" in volume and not volume["configMap"].get("optional")


def _named(resource: Recorded, name: str) -> bool:
    return resource.inputs["metadata"]["name"] == name


def _has(rule: dict[str, Any], port: int) -> bool:
    ranges = [(each["port"], each.get("endPort", each["port"])) for each in rule["ports"] if each["protocol"] == "TCP"]
    return any(first <= port <= last for first, last in ranges)


def _matches(selector: dict[str, Any], pods: Pods) -> bool:
    exact = all(pods.labels.get(label) == value for label, value in selector.get("matchLabels", {}).items())
    return exact and all(
        pods.labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", [])
    )


NETWORKS = {
    "dev": lambda: Network(plan(load_file(STACKS["dev"]))),
    "one-server": lambda: Network(plan(load_file(STACKS["one-server"]))),
    "1000": lambda: Network(plan(parsed(full_size("1000", computes=4)))),
    "a further Galera": lambda: Network(plan(parsed(full_size("100", **own_galera())))),
    "further brokers": lambda: Network(plan(parsed(full_size("100", **two_brokers())))),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]()


def test_what_the_configuration_connects_to_is_admitted(network: Network) -> None:
    rejected = {
        each for each in network.required if not network.admits(network.of(each[0]), network.of(each[1]), each[2])
    }
    assert rejected == set()


def test_the_configuration_names_what_is_known_to_connect(network: Network) -> None:
    """The comparison above is worth what it finds in the files."""
    assert {
        ("keystone", "proxysql", 6033), ("glance-databases", "proxysql", 6033), ("proxysql", "mysqld", 3306),
        ("nova-compute", "rabbitmq", 5672), ("nova-messaging", "rabbitmq", 15672), ("mysqld", "mysqld", 4567),
        ("nova-scheduler", "keystone", 5000), ("nova-identity", "keystone", 5000),
        ("neutron-metadata-agent", "nova-api", 8775), ("keystone", "memcached", 11211),
    } <= network.required  # fmt: skip


def test_a_project_that_may_connect_to_a_database_or_queue_does(network: Network) -> None:
    """A `needs` too many would admit pods without a reason."""
    for server, port in (
        ("proxysql", 6033),
        ("rabbitmq", 5672),
        ("rabbitmq", 15672),
        ("mysqld", 3306),
        ("memcached", 11211),
    ):
        own = network.of(server).labels[PROJECT]
        projects = {network.of(each).labels[PROJECT] for each in network.clients(server, port) - _on_nodes(network)}
        reasons = {network.of(client).labels[PROJECT] for client, *to in network.required if to == [server, port]}
        assert projects - {own} == reasons - {own}, (server, port)


def _on_nodes(network: Network) -> set[str]:
    return {each.name for each in network.pods if each.on_host_network}


def _of_projects(network: Network, *projects: str) -> set[str]:
    return {each.name for each in network.pods if each.labels[PROJECT] in projects} - _on_nodes(network)


def test_data_services_admit_nobody_else(network: Network) -> None:
    nodes = _on_nodes(network)
    mapping = further_clusters.mapping(network.made.settings)
    for galera in {"mysqld", *further_clusters.named(network.made.settings, further_clusters.GALERA)}:
        assert network.clients(galera, 3306) == _of_projects(network, "mariadb")
        for port in (4444, 4567, 4568, 9200):
            assert network.clients(galera, port) == {galera}, port
        users = [
            each
            for each in further_clusters.GALERA.projects(RECORDS)
            if mapping.get((each, "database"), "mysqld") == galera
        ]
        proxy = galera.replace("mysqld", "proxysql")
        assert network.clients(proxy, 6033) == _of_projects(network, *users)
    used = {
        each: {mapping.get((each, use), "rabbitmq") for use in ("rpc", "notifications")}
        for each in further_clusters.RABBITMQ.projects(RECORDS)
    }
    clients = _of_projects(network, "rabbitmq", *(each for each in used if "rabbitmq" in used[each]))
    assert network.clients("rabbitmq", 5672) == clients | nodes
    assert network.clients("rabbitmq", 15672) == clients
    assert network.clients("rabbitmq", 15692) == _of_projects(network, "prometheus")
    for port in (4369, 25672):
        assert network.clients("rabbitmq", port) == {"rabbitmq"}, port
    assert network.clients("elasticsearch-kibana", 9300) == {"elasticsearch-kibana"}
    assert network.clients("elasticsearch-kibana", 9200) == _of_projects(network, "opensearch", "fluentd")
    assert network.clients("influxdb-grafana", 9091) == _of_projects(network, "prometheus")
    assert network.clients("nova-api", 8775) == nodes


def test_a_port_that_no_container_lists_is_closed(network: Network) -> None:
    for server in (each for each in network.pods if each.resource.kind != "Job" and not each.on_host_network):
        assert network.clients(server.name, 22) == set(), server.name


def test_only_apis_and_dashboards_admit_everyone(network: Network) -> None:
    opened = {
        (policy.inputs["metadata"]["name"], int(port["port"]))
        for policy in network.policies
        for rule in policy.inputs["spec"]["ingress"]
        if "from" not in rule
        for port in rule["ports"]
    }
    assert opened == {each for each in APIS if each[0] in {pods.name for pods in network.pods}}
    assert all(rule.get("from") != [] for each in network.policies for rule in each.inputs["spec"]["ingress"])


def test_every_process_on_the_pod_network_has_a_policy_before_its_pods(network: Network) -> None:
    names = {each.inputs["metadata"]["name"]: each.name for each in network.policies}
    workloads = [each for each in network.pods if each.resource.kind != "Job"]
    assert names.keys() == {each.name for each in workloads if not each.on_host_network}
    assert len(names) == len(network.policies)
    for each in workloads:
        if not each.on_host_network:
            assert ("NetworkPolicy", names[each.name]) in each.resource.after, each.name
    for each in network.policies:
        spec = each.inputs["spec"]
        assert spec["policyTypes"] == ["Ingress"], "without it, a policy without rules would limit nothing"
        selected = {pods.name for pods in network.pods if _matches(spec["podSelector"], pods)}
        assert selected == {each.inputs["metadata"]["name"]}


def test_without_a_management_network_the_nodes_are_the_networks_around_them() -> None:
    given = full_size("100", computes=200)
    made = plan(parsed(given))
    assert network_policies.node_networks(made) == ("10.20.0.0/23", "10.20.4.0/24"), "masters and storage, computes"
    more = plan(parsed(full_size("100", computes=201)))
    assert network_policies.node_networks(more) == network_policies.node_networks(made)
    named = plan(parsed({**given, "networks": {"management": "10.20.0.0/16"}}))
    assert network_policies.node_networks(named) == ("10.20.0.0/16",)


def test_a_member_port_belongs_to_a_workload_with_members() -> None:
    for process in PROCESSES.values():
        for port in (port for container in process.containers for port in container.ports):
            assert "members" not in port.clients or process.kind == "StatefulSet", (process.name, port.name)
            assert port.clients, (process.name, port.name)
