"""Quorum members on distinct physical hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from contract import SERVER
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.scheduling import anti_affinity_gap
from policy.facts.placement.placement_counts import counts
from policy.facts.quorums.quorums import MemberGroup, is_quorum, pod_groups
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize


@rule(
    id="one-member-per-server",
    title="Quorum members run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="Two virtual machines on one physical host are one failure domain. Members on different nodes of one "
    "host fail together, and the quorum fails with them.",
    sources=(
        RuleSource("000", "Problem description", 3),
        RuleSource("004", "5.4.14", 19),
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Failure domains", 1),
    ),
    remediation="Add a required podAntiAffinity with topologyKey quorate.io/server that selects the members' pods "
    "(or anti-affinity by rack, or a DoNotSchedule spread, with the same effect), label every node that may run them "
    "with quorate.io/server, and spread their pool over as many physical hosts as there are members.",
    subjects=pod_groups,
    applies=is_quorum,
    not_applicable_reason="no workload with several members forms a quorum",
    parameters={"topology": SERVER},
)
def one_member_per_server(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Evaluates the worst placement that the scheduling rules allow, and reports nodes without the host label."""
    nodes = {node.name: node for each in group.workloads for node in facts.eligible(each)}
    unlabelled = {name for name, node in nodes.items() if not node.server}
    if unlabelled:
        yield RuleProblem(f"no label {SERVER} on {join_names(unlabelled)}", "it on every eligible node")
    members, servers = group.size(facts), {node.server for node in nodes.values() if node.server}
    if len(servers) < members and any(each.replicas is not None for each in group.workloads):
        names = join_names(servers) or "no node is eligible"
        yield RuleProblem(
            f"eligible nodes span {pluralize(len(servers), 'physical host')} ({names})",
            f"at least {members}, one per member",
        )
    worst = counts(facts).worst(group.workloads, SERVER)
    shared = {server: most for server, most in worst.items() if server and most > 1}
    if shared:
        why = dict.fromkeys(anti_affinity_gap(each, SERVER) for each in group.workloads if each.replicas is not None)
        most, because = max(shared.values()), f" ({'; '.join(why)})" if why else ""
        yield RuleProblem(
            f"physical host {join_names(shared)} can carry {most} of {members} members{because}",
            "scheduling rules that allow one member per physical host",
        )


def _guest(facts: Facts, node: NodeFacts) -> bool:
    """Whether the node is a virtual machine of the stack."""
    carried = any(node.name in host.guests for host in facts.virt_hosts)
    return carried or any(node.name == each.name for each in facts.domains)


@lru_cache(maxsize=2)
def _by_provider_id(facts: Facts) -> Mapping[str, frozenset[str]]:
    """Returns the names of the nodes with each providerID, by providerID."""
    found: dict[str, frozenset[str]] = {}
    for node in facts.nodes:
        if node.provider_id:
            found[node.provider_id] = found.get(node.provider_id, frozenset()) | {node.name}
    return found


def _twins(facts: Facts, node: NodeFacts) -> frozenset[str]:
    """Returns the names of other nodes with the node's providerID: they are the same machine."""
    return _by_provider_id(facts).get(node.provider_id, frozenset()) - {node.name}


@rule(
    id="server-label-is-true",
    title="A virtual machine's server label names the host that runs it",
    severity=Severity.CRITICAL,
    rationale="Every rule that keeps members on distinct physical hosts uses the label quorate.io/server. If the "
    "label names another host than the one that runs the virtual machine, those rules pass while members share a "
    "host.",
    sources=(
        RuleSource("000", "Problem description", 3),
        RuleSource("project", "Failure domains", 2),
    ),
    remediation="Set the node's label quorate.io/server to the server whose VirtHost lists the virtual machine; of a "
    "machine that is not a node, its property server.",
    subjects=lambda facts: facts.places,
    applies=lambda facts, node: _guest(facts, node) or bool(_twins(facts, node)),
    not_applicable_reason="no node is a virtual machine of the stack, or the same machine as another node",
)
def server_label_is_true(facts: Facts, node: NodeFacts) -> Iterator[RuleProblem]:
    """Compares the label with the VirtHost of the virtual machine, or with the hypervisor of its libvirt domain."""
    carriers = {host.server for host in facts.virt_hosts if node.name in host.guests}
    if carriers and carriers != {node.server}:
        yield RuleProblem(
            f"{SERVER}={node.server or '(none)'}, but VirtHost {join_names(carriers)} carries it",
            "one carrier, named in the label",
        )
    if twins := _twins(facts, node):
        yield RuleProblem(f"spec.providerID is that of {join_names(twins)}", "one Node for each machine")
    hosts = {each.name: each.host for each in facts.domains}
    if node.name in hosts:
        beside = [each for each in facts.nodes if hosts.get(each.name) == hosts[node.name]]
        others = {each.name for each in beside if each.server != node.server}
        if others:
            yield RuleProblem(
                f"{SERVER}={node.server or '(none)'}, but its libvirt domain has the provider of {join_names(others)}",
                "the same label on all virtual machines of one hypervisor",
            )
