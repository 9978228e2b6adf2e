"""The Kubernetes API: proxies on workers, and settings for 1000 nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract import REFLECTOR
from policy.facts.kubernetes.workload import kubernetes_kind
from policy.facts.machines.machine import MachineFacts
from policy.facts.product_defaults import FULL_MESH, MAX_IN_FLIGHT
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed, Properties
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

PORT = 6443
LEAST_TIMEOUT = 600
"""Minimum proxy_timeout in seconds: 10 minutes."""
LARGE = 1000
LEAST_REQUESTS = 2000

_UPSTREAM = re.compile(r"\bserver\s+([^\s;:]+):6443\b")
_TIMEOUT = re.compile(r"^\s*proxy_timeout\s+(\w+)\s*;", re.M)
_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Proxy:
    """An nginx that forwards connections to API servers."""

    resource: Resource
    title: str
    text: str

    @property
    def backends(self) -> set[str]:
        """Addresses of the API servers in the proxy's configuration."""
        return set(_UPSTREAM.findall(self.text))

    @property
    def timeout(self) -> float | None:
        """Seconds after which the proxy closes an idle connection; None if the configuration does not set it."""
        found = _TIMEOUT.search(self.text)
        return duration(found[1]) if found else None


def duration(text: str) -> float:
    """Returns an nginx time such as `10m`, `1h30m` or `600` in seconds."""
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise Malformed(f"'{text}' is not a valid nginx time")
    return sum(int(number) * _SECONDS[unit or "s"] for number, unit in parts)


def proxies(facts: Facts) -> Iterator[Proxy]:
    """Yields the proxies that files of machines and ConfigMaps configure."""
    for machine in facts.machines:
        if proxy := _proxy_of(machine):
            yield proxy
    for resource in facts.resources:
        if kubernetes_kind(resource) == "ConfigMap":
            yield from _in(resource, f"ConfigMap {resource.name}", resource.props.at("data").texts())


def _proxy_of(machine: MachineFacts) -> Proxy | None:
    return next(_in(machine.resource, machine.title, machine.files), None)


def _in(resource: Resource, title: str, files: Mapping[str, str]) -> Iterator[Proxy]:
    for name in files:
        if name.endswith(".conf") and "nginx" in name and _UPSTREAM.search(text := files[name]):
            yield Proxy(resource, title, text)


def _reaches_api(facts: Facts, machine: MachineFacts) -> bool:
    """Whether a machine has files and is neither a master nor a machine with a member of etcd only.

    False in a stack without masters.
    """
    if any(machine.node == each.name for each in facts.members_outside):
        return False
    return bool(facts.master_tiers) and not machine.is_master and bool(machine.files)


@rule(
    id="api-proxy-knows-all-masters",
    title="Every node except the masters runs a proxy to all API servers",
    severity=Severity.HIGH,
    rationale="A worker that uses one API server stops when that server fails. A single proxy for all workers is "
    "another single point of failure; a proxy on each worker fails with that worker alone.",
    sources=(
        RuleSource("004", "5.5.5", 20),
        RuleSource("004", "5.5.5", 23),
        RuleSource("004", "5.5.9", 20),
    ),
    remediation="Give every node except the masters an nginx.conf whose upstream lists the address of each "
    "master with port 6443, and the static pod that runs it.",
    subjects=lambda facts: facts.machines,
    applies=_reaches_api,
    not_applicable_reason="the stack has no master tier, or no other machine than the masters",
    reads_machine_files=True,
    parameters={"port": PORT},
    since="0.2.0",
)
def api_proxy_knows_all_masters(facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Reports missing masters, and addresses that belong to no master."""
    addresses = {master.address for tier in facts.master_tiers for master in tier.masters}
    proxy = _proxy_of(machine)
    if proxy is None:
        yield RuleProblem("no proxy to the API servers", f"one that lists {join_names(addresses)}")
        return
    if missing := addresses - proxy.backends:
        yield RuleProblem(f"proxy does not list {join_names(missing)}", "every master")
    if strange := proxy.backends - addresses:
        yield RuleProblem(f"proxy lists {join_names(strange)}, which belong to no master", "masters only")
    pods = [each for each in machine.of_kind("Pod") if "nginx" in str(each.get("spec"))]
    if not pods:
        yield RuleProblem("no static pod runs the proxy", "a manifest of a pod with nginx")


@rule(
    id="api-proxy-timeout",
    title="API server proxies use a proxy_timeout of at least 10 minutes",
    severity=Severity.HIGH,
    rationale="kubelet and kube-proxy keep long connections that are silent most of the time. A proxy that closes "
    "them makes every client reconnect: at 1000 nodes, reconnecting cost 20 cores of the API servers.",
    sources=(RuleSource("004", "5.5.8", 7),),
    remediation="Set `proxy_timeout 10m;` in the server block that forwards to port 6443.",
    subjects=proxies,
    not_applicable_reason="the stack has no nginx in front of API servers",
    reads_machine_files=True,
    parameters={"least": "10m"},
    since="0.2.0",
)
def api_proxy_timeout(_facts: Facts, proxy: Proxy) -> Iterator[RuleProblem]:
    """Requires an explicit value, because the default differs between builds of nginx."""
    if proxy.timeout is None:
        yield RuleProblem("proxy_timeout is not set", "10m or more")
    elif proxy.timeout < LEAST_TIMEOUT:
        yield RuleProblem(f"proxy_timeout is {proxy.timeout:g} seconds", "10m or more")


def large(facts: Facts) -> bool:
    """Whether the stack has at least 1000 nodes, or names an architecture for at least 1000 compute nodes."""
    return len(facts.nodes) >= LARGE or (bool(facts.clouds) and facts.required_architecture.computes >= LARGE)


def configured(facts: Facts) -> Iterator[MachineFacts]:
    """Returns the masters whose kubeadm configuration contains the ClusterConfiguration."""
    return (machine for machine in facts.machines if machine.is_master and any(machine.of_kind("ClusterConfiguration")))


def arguments(configuration: Mapping[str, Any], component: str) -> dict[str, str]:
    """Returns a component's extraArgs in kubeadm's ClusterConfiguration: since v1beta4 a list, before a mapping."""
    given = Properties(configuration, "kubeadm's configuration").at(component, "extraArgs")
    if given.is_list():
        return {each.at("name").text(): each.at("value").text() for each in given.items()}
    return dict(given.texts())


@rule(
    id="api-requests-in-flight",
    title="API servers for 1000 nodes or more allow 2000 requests in flight",
    severity=Severity.HIGH,
    rationale="With the default of 400, the API servers answer 429 long before the peak load of 1000 nodes, and "
    "nodes whose kubelets cannot report are marked unreachable.",
    sources=(RuleSource("004", "5.5.8", 14),),
    remediation="Set apiServer.extraArgs max-requests-inflight to 2000 in kubeadm's ClusterConfiguration.",
    subjects=configured,
    applies=lambda facts, _machine: large(facts),
    not_applicable_reason="the stack is built for less than 1000 nodes, or no master has a ClusterConfiguration",
    parameters={"from nodes": LARGE, "least": LEAST_REQUESTS},
    since="0.2.0",
)
def api_requests_in_flight(_facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Checks max-requests-inflight in kubeadm's ClusterConfiguration."""
    for configuration in machine.of_kind("ClusterConfiguration"):
        said = arguments(configuration, "apiServer").get(MAX_IN_FLIGHT.setting, "")
        if not said.isdigit() or int(said) < LEAST_REQUESTS:
            yield RuleProblem(MAX_IN_FLIGHT.actual(said or None), f"{LEAST_REQUESTS} or more")


def _with_bgp(facts: Facts) -> Iterator[MachineFacts]:
    return (machine for machine in facts.machines if machine.is_master and any(machine.of_kind("BGPConfiguration")))


def _reflects(node: Mapping[str, Any]) -> bool:
    """Whether a Node, of Kubernetes or of Calico, is a route reflector."""
    return bool(
        node["metadata"].get("annotations", {}).get(REFLECTOR)
        or node.get("spec", {}).get("bgp", {}).get("routeReflectorClusterID")
    )


@rule(
    id="route-reflectors",
    title="Clusters of 1000 nodes or more use at least 3 Calico route reflectors",
    severity=Severity.HIGH,
    rationale="In a full mesh every node peers with every other node: half a million connections at 1000 nodes, and "
    "starting a node takes long. A single route reflector would be a single point of failure of the whole network.",
    sources=(
        RuleSource("004", "5.5.8", 44),
        RuleSource("004", "5.5.7", 6),
        RuleSource("project", "Networks", 1),
    ),
    remediation="Set nodeToNodeMeshEnabled to false in the BGPConfiguration, give three nodes a "
    "routeReflectorClusterID, and write a BGPPeer from all nodes to these three.",
    subjects=_with_bgp,
    applies=lambda facts, _machine: large(facts),
    not_applicable_reason="the stack is built for less than 1000 nodes, or no master has Calico's configuration",
    parameters={"from nodes": LARGE, "least": 3},
    since="0.2.0",
)
def route_reflectors(facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Checks that the full mesh is off. Counts only route reflectors that are nodes of the stack."""
    meshed = FULL_MESH.value == "true"
    if any(each["spec"].get(FULL_MESH.setting, meshed) for each in machine.of_kind("BGPConfiguration")):
        yield RuleProblem("the full node-to-node mesh is enabled", "nodeToNodeMeshEnabled: false")
    nodes = {node.name for node in facts.nodes}
    reflectors = {
        each["metadata"]["name"] for master in facts.machines for each in master.of_kind("Node") if _reflects(each)
    }
    if len(reflectors & nodes) < 3:
        yield RuleProblem(pluralize(len(reflectors & nodes), "route reflector"), "at least 3, each a node of the stack")
    if not any(machine.of_kind("BGPPeer")):
        yield RuleProblem("no BGPPeer", "one from all nodes to the reflectors")
