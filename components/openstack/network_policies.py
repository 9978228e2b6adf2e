"""NetworkPolicies: which connections the pods of a process accept.

A policy for each process on the pod network, named after it. It admits the clients that the process's ports list
(definition.py), on those ports, and nothing else. A process without ports accepts no connections.

- Egress is not limited. Each connection within the environment is checked once, at the receiver. Limits on egress would
  have to list DNS, the API server, image sources and every network of a user's own, and would protect no member.
- Pods on the host's network (computes, agents, OSDs) have no policy: Kubernetes does not apply policies to them. As
  clients they have their node's address, so `nodes` admits the management network. A pod selector never matches them.
- An overlay between nodes (IPIP, VXLAN) gives such connections an address of the pod network, which no rule admits.
  Calico must route without one.
- APIs and dashboards admit everyone: their clients are outside of the cluster. A controller of Ingresses, which sends
  their requests on, may run in any namespace or on its node's network.
- Probes come from the node that runs the pod, which network plugins always admit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, collapse_addresses

import contract
from blueprint.plan.planner import Plan
from components.kubernetes_api import meta, networking
from components.openstack.config.wiring import Wiring
from components.openstack.definition import Client, Port, ProcessDefinition
from components.openstack.projects import PROJECTS

MONITORING = "prometheus"
"""The project whose pods read metrics."""
NEEDED_BY: Mapping[str, tuple[str, ...]] = {
    project.name: tuple(other.name for other in PROJECTS if project.name in other.needs) for project in PROJECTS
}
"""For each project, the projects that need it."""


def node_networks(plan: Plan) -> tuple[str, ...]:
    """Returns the networks that contain the nodes' addresses: the management network, or the /24 of each address.

    With a /24, a new node rarely changes the policies.
    """
    if plan.settings.networks.management:
        return (str(plan.settings.networks.management),)
    networks = {IPv4Network(f"{node.address}/24", strict=False) for node in plan.nodes}
    return tuple(map(str, collapse_addresses(networks)))


def needed_by(process: ProcessDefinition, wiring: Wiring) -> tuple[str, ...]:
    """Returns the projects that need a process: those that need its project; of several RabbitMQ, their users."""
    projects = NEEDED_BY[process.project]
    if process.name not in wiring.brokers:
        return projects
    return tuple(
        each for each in projects if process.name in (wiring.broker(each, "rpc"), wiring.broker(each, "notifications"))
    )


def spec(process: ProcessDefinition, nodes: Sequence[str], needing: Sequence[str]) -> networking.NetworkPolicySpecArgs:
    """Returns the policy of a process on the pod network.

    `nodes`: the networks of the nodes' addresses. `needing`: the projects that need the process.
    """
    return networking.NetworkPolicySpecArgs(
        pod_selector=_pods(contract.NAME, [process.name]),
        policy_types=["Ingress"],
        ingress=[
            networking.NetworkPolicyIngressRuleArgs(
                # A rule without peers admits every address.
                from_=None if "everyone" in clients else list(_peers(process, clients, nodes, needing)),
                ports=[networking.NetworkPolicyPortArgs(port=port.number, protocol=port.protocol) for port in ports],
            )
            for clients, ports in _by_clients(process).items()
        ],
    )


def _by_clients(process: ProcessDefinition) -> dict[tuple[Client, ...], list[Port]]:
    found: dict[tuple[Client, ...], list[Port]] = {}
    for container in process.containers:
        for port in container.ports:
            found.setdefault(port.clients, []).append(port)
    return found


def _peers(
    process: ProcessDefinition, clients: Sequence[Client], nodes: Sequence[str], needing: Sequence[str]
) -> Iterator[networking.NetworkPolicyPeerArgs]:
    if "members" in clients:
        yield networking.NetworkPolicyPeerArgs(pod_selector=_pods(contract.NAME, [process.name]))
    by_kind: dict[Client, Sequence[str]] = {
        "project": (process.project,),
        "needs": needing,
        "monitoring": (MONITORING,),
    }
    if projects := [name for kind, names in by_kind.items() if kind in clients for name in names]:
        yield networking.NetworkPolicyPeerArgs(pod_selector=_pods(contract.COMPONENT, projects))
    if "nodes" in clients:
        for network in nodes:
            yield networking.NetworkPolicyPeerArgs(ip_block=networking.IPBlockArgs(cidr=network))


def _pods(label: str, values: Sequence[str]) -> meta.LabelSelectorArgs:
    """Returns a selector of pods with one of these values of a label."""
    if len(values) == 1:
        return meta.LabelSelectorArgs(match_labels={label: values[0]})
    expression = meta.LabelSelectorRequirementArgs(key=label, operator="In", values=list(values))
    return meta.LabelSelectorArgs(match_expressions=[expression])
