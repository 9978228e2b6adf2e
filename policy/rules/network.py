"""NetworkPolicies that separate or expose quorum members, and autoscalers that change their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network

from policy.facts.kubernetes.autoscalers import Autoscaler
from policy.facts.kubernetes.network_policies import Direction, NetworkPolicy
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, is_member, is_quorum, pod_groups, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

PEER_PORTS: Mapping[QuorumKind, tuple[int, ...]] = {
    QuorumKind.ETCD: (2380,),
    QuorumKind.GALERA: (4567,),
    QuorumKind.RABBITMQ: (4369, 25672),
    QuorumKind.LOGS: (9300,),
    QuorumKind.ZOOKEEPER: (2888, 3888),
    QuorumKind.CONSUL: (8300, 8301),
    QuorumKind.VAULT: (8201,),
    QuorumKind.MONGODB: (27017,),
    QuorumKind.SENTINEL: (26379,),
    QuorumKind.POSTGRES: (5432,),
}
"""Default TCP ports between members of a quorum, by kind. For other kinds, any admitted port is accepted."""
_DIRECTIONS: tuple[Direction, ...] = ("Egress", "Ingress")


def _limiting(facts: Facts, workload: Workload, direction: Direction) -> list[NetworkPolicy]:
    return [each for each in facts.network_policies if each.limits(workload, direction)]


def _is_limited(facts: Facts, group: MemberGroup) -> bool:
    if not facts.network_policies or not is_quorum(facts, group):
        return False
    return any(_limiting(facts, each, direction) for each in group.workloads for direction in _DIRECTIONS)


def _pairs(facts: Facts, group: MemberGroup) -> Iterator[tuple[Workload, Workload]]:
    """Yields each pair of workloads (sender, receiver) whose pods are members of the quorum and connect to each other.

    A workload with several pods is also paired with itself.
    """
    for one in group.workloads:
        yield from ((one, other) for other in group.workloads if other is not one or pods(facts, one) > 1)


@rule(
    id="network-policy-admits-members",
    title="NetworkPolicies admit connections between the members of a quorum",
    severity=Severity.CRITICAL,
    rationale="Members that a NetworkPolicy cuts off from each other form no majority, or lose it at the next restart. "
    "A pod that a policy selects can open or accept only connections that some policy allows. The rule checks the TCP "
    "ports below; for other programs, any allowed port is enough.",
    sources=(RuleSource("project", "Quorums", 12),),
    remediation="Allow ingress and egress between the members' pods, selected by their labels, on all ports that "
    "members use among themselves (Galera also needs 4444 and 4568 for state transfers, and RabbitMQ 6000 to 6500 for "
    "streams).",
    subjects=pod_groups,
    applies=_is_limited,
    not_applicable_reason="no NetworkPolicy selects members of a quorum",
    parameters={str(kind): ", ".join(map(str, ports)) for kind, ports in PEER_PORTS.items()},
    since="0.4.0",
)
def network_policy_admits_members(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Checks ingress and egress between each pair of members. A connection passes if any policy admits it."""
    ports: tuple[int | None, ...] = PEER_PORTS.get(group.kind, (None,)) if group.kind else (None,)
    blocked: dict[str, set[int | None]] = {}
    for sender, receiver in _pairs(facts, group):
        for direction in _DIRECTIONS:
            limited, other = (sender, receiver) if direction == "Egress" else (receiver, sender)
            policies = _limiting(facts, limited, direction)
            for port in ports if policies else ():
                if not any(each.admits(direction, other, receiver, port, facts.namespaces) for each in policies):
                    names = join_names([each.title for each in policies])
                    blocked.setdefault(f"{names} ({direction.lower()})", set()).add(port)
    for what, closed in blocked.items():
        numbers = join_names([str(port) for port in closed if port is not None])
        yield RuleProblem(
            f"{what} admits no connections between members{f' on port {numbers}' if numbers else ''}",
            "a rule that admits the members' pods",
        )


_SHARED_PORTS = {QuorumKind.MONGODB, QuorumKind.SENTINEL, QuorumKind.POSTGRES}
"""Kinds of quorum whose members and clients connect to the same port."""


def _has_limited_ports(facts: Facts, group: MemberGroup) -> bool:
    known = group.kind in PEER_PORTS and group.kind not in _SHARED_PORTS
    return known and is_quorum(facts, group) and any(_limiting(facts, each, "Ingress") for each in group.workloads)


@rule(
    id="quorum-closed-to-cluster",
    title="NetworkPolicies open the ports between quorum members only to some pods, not to the whole cluster",
    severity=Severity.HIGH,
    rationale="Galera accepts as a member any program that reaches its port and knows the cluster's name. That member "
    "counts for the majority and gets all data. Other products protect these ports by one shared password.",
    sources=(RuleSource("project", "Security", 3),),
    remediation="Admit only the members' pods, by labels, to the ports between members.",
    subjects=pod_groups,
    applies=_has_limited_ports,
    not_applicable_reason="no NetworkPolicy limits who connects to members of a quorum",
    parameters={
        str(kind): ", ".join(map(str, ports)) for kind, ports in PEER_PORTS.items() if kind not in _SHARED_PORTS
    },
    since="0.5.0",
)
def quorum_closed_to_cluster(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Reports policies that admit every pod of the cluster to a port between members. One namespace is accepted."""
    ports = PEER_PORTS[group.kind] if group.kind else ()
    for workload in group.workloads:
        for policy in _limiting(facts, workload, "Ingress"):
            if opened := [str(port) for port in ports if policy.opens(workload, port)]:
                what = f"{policy.title} admits every pod of the cluster on port {join_names(opened)}"
                yield RuleProblem(what, "a rule that admits the members' pods")


def _scales_members(facts: Facts, autoscaler: Autoscaler) -> bool:
    target = autoscaler.target
    members = (each for each in facts.workloads if is_member(facts, each))
    return any((each.namespace, each.kind, each.name) == target for each in members)


@rule(
    id="autoscaler-keeps-members",
    title="No autoscaler changes the number of members of a quorum",
    severity=Severity.HIGH,
    rationale="A quorum that grows or shrinks with its load passes through even sizes, and loses members that are "
    "still in its member list.",
    sources=(RuleSource("project", "Quorums", 13),),
    remediation="Remove the autoscaler, or set its minimum and maximum to the number of members.",
    subjects=lambda facts: facts.autoscalers,
    applies=_scales_members,
    not_applicable_reason="no autoscaler scales a member of a quorum",
    since="0.4.0",
)
def autoscaler_keeps_members(_facts: Facts, autoscaler: Autoscaler) -> Iterator[RuleProblem]:
    """Accepts an autoscaler whose minimum equals its maximum."""
    if autoscaler.least != autoscaler.most:
        _, kind, name = autoscaler.target
        yield RuleProblem(
            f"scales {kind} {name} between {autoscaler.least} and {pluralize(autoscaler.most, 'member')}",
            "a fixed number of members",
        )


def _admits_nodes(facts: Facts, policy: NetworkPolicy) -> bool:
    return any(_nodes_of(facts, networks) for networks in policy.admitted_networks)


def _nodes_of(facts: Facts, networks: Sequence[IPv4Network]) -> list[str]:
    """Returns the nodes whose address is in one of the networks."""
    nodes = ((machine.node, machine.address) for machine in facts.machines if machine.single and machine.address)
    return [node for node, address in nodes if any(IPv4Address(address) in each for each in networks)]


@rule(
    id="network-policy-admits-tunnels",
    title="NetworkPolicies that admit nodes admit the addresses of their tunnels too",
    severity=Severity.CRITICAL,
    rationale="With IPIP or VXLAN between nodes, a connection of a pod on its node's network, such as that of "
    "nova-compute to RabbitMQ, comes from the address of the node's tunnel. A policy that admits only the node's own "
    "address cuts it off.",
    sources=(RuleSource("project", "Networks", 3),),
    remediation="Let Calico route without encapsulation (quorate:calico.encapsulation: none), or give tunnels a "
    "network of their own (quorate:calico.tunnels; an IPPool with allowedUses [Tunnel]) and admit it beside the nodes.",
    subjects=lambda facts: facts.network_policies,
    applies=lambda facts, policy: bool(facts.tunnel_networks) and _admits_nodes(facts, policy),
    not_applicable_reason="no packets between nodes are tunnelled, or no NetworkPolicy admits addresses of nodes",
    since="0.6.0",
)
def network_policy_admits_tunnels(facts: Facts, policy: NetworkPolicy) -> Iterator[RuleProblem]:
    """Checks each rule of the policy that admits a node: it must cover every network of tunnels."""
    missing = {
        tunnels
        for networks in policy.admitted_networks
        if _nodes_of(facts, networks)
        for tunnels in facts.tunnel_networks
        if not any(tunnels.subnet_of(each) for each in networks)
    }
    if missing:
        names = join_names([str(each) for each in sorted(missing)])
        yield RuleProblem(f"admits nodes, but not the tunnels' addresses {names}", f"an ipBlock with {names}")
