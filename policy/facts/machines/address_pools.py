"""Reads Calico's pools of addresses: which networks the tunnels between nodes have their addresses from.

With tunnels, a connection of a pod on its node's network comes from the address of the node's tunnel. A pool is an
IPPool, as a resource or in a file of a master, or the one that calico-node makes by its own variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from policy.facts.kubernetes.workload import Workload
from policy.facts.machines.machine import MachineFacts
from policy.properties import Properties
from policy.resource import Resource

TYPES = ("kubernetes:crd.projectcalico.org/v1:IPPool", "kubernetes:projectcalico.org/v3:IPPool")
_MODES = ("ipipMode", "vxlanMode")
_VARIABLES = ("CALICO_IPV4POOL_IPIP", "CALICO_IPV4POOL_VXLAN")
_DEFAULT = "192.168.0.0/16"
"""Network of the pool that calico-node makes (Calico documentation, Configuring calico/node)."""


def tunnel_networks(
    resources: Iterable[Resource], machines: Iterable[MachineFacts], workloads: Iterable[Workload]
) -> tuple[IPv4Network, ...]:
    """Returns the networks of the tunnels' addresses; () if no packets between nodes are tunnelled."""
    specs = [each.props.at("spec") for each in resources if each.type in TYPES]
    for machine in machines:
        specs += [Properties(each.get("spec"), machine.resource.name) for each in machine.of_kind("IPPool")]
    found = [each.at("cidr").text() for each in specs if _tunnels(each)]
    return tuple(map(IPv4Network, dict.fromkeys([*found, *_made_by_nodes(workloads)])))


def _tunnels(spec: Properties) -> bool:
    """Whether nodes take addresses of their tunnels from a pool. A pool without `allowedUses` is for every use."""
    uses = spec.at("allowedUses").words()
    return any(spec.at(mode).text("Never") != "Never" for mode in _MODES) and (not uses or "Tunnel" in uses)


def _made_by_nodes(workloads: Iterable[Workload]) -> Iterator[str]:
    for workload in workloads:
        if workload.name != "calico-node":
            continue
        for container in workload.pod.at("containers").items():
            given = {each.at("name").text(): each.at("value") for each in container.at("env").items()}
            makes = "NO_DEFAULT_POOLS" not in given or given["NO_DEFAULT_POOLS"].text() != "true"
            if makes and any(name in given and given[name].text("Never") != "Never" for name in _VARIABLES):
                yield given["CALICO_IPV4POOL_CIDR"].text() if "CALICO_IPV4POOL_CIDR" in given else _DEFAULT
