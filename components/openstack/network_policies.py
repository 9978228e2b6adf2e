"""NetworkPolicies: which connections the pods of a process accept.

Each process on the pod network has a policy of the same name. The policy admits the clients that the process's ports
list (definition.py), on these ports, and nothing else. A process without ports accepts no connections.

- Egress is not limited. A connection between two processes is checked at the receiver. Limits on egress would have to
  list DNS, the API server, image sources and networks of users, and would not protect quorum members.
- Pods on the host's network (computes, agents, OSDs) have no policy, because Kubernetes does not apply any to them.
  When they connect to other pods, they have the address of their node, which pod selectors do not match. Therefore the
  client kind `nodes` admits the management network.
- With an overlay between nodes (IPIP, VXLAN), connections of these pods have the address of their node's tunnel. All
  tunnels have addresses of one network (`quorate:calico.tunnels`), which `nodes` then admits too.
- APIs and dashboards admit every address, because their clients are outside of the cluster. The ingress controller that
  forwards the requests may run in any namespace or on its node's network.
- Probes come from the node that runs the pod. Network plugins admit them regardless of policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, collapse_addresses

import contract
from blueprint.openstack.projects.process_definition import Client, Port, ProcessDefinition
from blueprint.plan.plan import Plan
from components.kubernetes_api import meta, networking
from openstack.clients import MONITORING


def node_networks(plan: Plan) -> tuple[str, ...]:
    """Returns the networks that contain the nodes' addresses, and those of their tunnels.

    These are the management network of the stack file or, without it, the /24 network of each address. With a /24, a
    new node rarely changes the policies.
    """
    management, tunnels = plan.settings.networks.management, plan.settings.calico.tunnels
    nodes = {management} if management else {IPv4Network(f"{node.address}/24", strict=False) for node in plan.nodes}
    return (*map(str, collapse_addresses(nodes)), *([str(tunnels)] if tunnels else []))


def spec(process: ProcessDefinition, nodes: Sequence[str], needing: Sequence[str]) -> networking.NetworkPolicySpecArgs:
    """Returns the spec of the NetworkPolicy for a process on the pod network.

    `nodes`: the networks of the nodes' addresses. `needing`: the projects that need the process.
    """
    return networking.NetworkPolicySpecArgs(
        pod_selector=_pods(contract.NAME, [process.name]),
        policy_types=["Ingress"],
        ingress=[
            networking.NetworkPolicyIngressRuleArgs(
                # A rule without peers admits every address.
                from_=None if "everyone" in clients else list(_peers(process, clients, nodes, needing)),
                ports=[
                    networking.NetworkPolicyPortArgs(port=port.number, protocol=port.protocol, end_port=port.last)
                    for port in ports
                ],
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
    """Returns a selector for pods whose label `label` has one of `values`."""
    if len(values) == 1:
        return meta.LabelSelectorArgs(match_labels={label: values[0]})
    expression = meta.LabelSelectorRequirementArgs(key=label, operator="In", values=list(values))
    return meta.LabelSelectorArgs(match_expressions=[expression])
