"""Quorum members on distinct physical hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from contract import SERVER
from policy.facts.kubernetes.node import Node
from policy.facts.kubernetes.scheduling import anti_affinity_gap
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names, pluralize


@rule(
    id="one-member-per-server",
    title="Quorum members run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="Two virtual machines on one physical host are one failure domain. Members on different nodes of one "
    "host fail together, and the quorum fails with them.",
    sources=(
        Source(
            "000",
            "Problem description",
            "full working HA will be possible with 3 physical nodes (each controller located on other physical server)",
        ),
        Source(
            "004",
            "5.4.14",
            "proper resilience by using 3 or 5 instances of Ceph Monitor, each running on separate host",
        ),
        Source("004", "5.5.9", "check that quorum for etcd cluster is satisfied"),
        Source("project", "Failure domains", "members of a quorum run on distinct physical hosts"),
    ),
    remediation="Add a required podAntiAffinity with topologyKey quorate.io/server that selects the workload's own "
    "pods, label every node that may run it with quorate.io/server, and spread its pool over as many physical hosts "
    "as it has members.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: is_member(facts, workload) and workload.replicas != 1,
    not_applicable_reason="no workload of several members is a quorum",
    parameters={"topology": SERVER},
)
def one_member_per_server(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """A node without the label is in no domain: the scheduler applies no anti-affinity there."""
    if workload.replicas is not None and not facts.is_anti_affine(workload, workload, SERVER):
        yield Problem(
            anti_affinity_gap(workload, SERVER), f"a required anti-affinity over {SERVER} that selects its own pods"
        )
    nodes = facts.eligible(workload)
    unlabelled = {node.name for node in nodes if not node.server}
    if unlabelled:
        yield Problem(f"no label {SERVER} on {join_names(unlabelled)}", "it on every eligible node")
    servers = Counter(node.server for node in nodes if node.server)
    if workload.replicas is None:
        shared = [server for server, count in servers.items() if count > 1]
        if shared:
            yield Problem(f"eligible nodes share physical host {join_names(shared)}", "one node per physical host")
    elif len(servers) < workload.replicas:
        yield Problem(
            f"eligible nodes span {pluralize(len(servers), 'physical host')} ({join_names(list(servers))})",
            f"at least {workload.replicas}, one per member",
        )


def _guest(facts: Facts, node: Node) -> bool:
    return any(node.name in host.guests for host in facts.virt_hosts)


@rule(
    id="server-label-is-true",
    title="A virtual machine's server label names the host that runs it",
    severity=Severity.CRITICAL,
    rationale="Every rule that keeps members on distinct physical hosts uses the label quorate.io/server. If the "
    "label names another host than the one that runs the virtual machine, those rules pass while members share a "
    "host.",
    sources=(
        Source(
            "000",
            "Problem description",
            "full working HA will be possible with 3 physical nodes (each controller located on other physical server)",
        ),
        Source("project", "Failure domains", "virtual machines of one physical host are one failure domain"),
    ),
    remediation="Set the node's label quorate.io/server to the server whose VirtHost lists the virtual machine.",
    subjects=lambda facts: facts.nodes,
    applies=_guest,
    not_applicable_reason="no node is a virtual machine on a VirtHost of the stack",
)
def server_label_is_true(facts: Facts, node: Node) -> Iterator[Problem]:
    """The VirtHost creates the virtual machine."""
    carriers = {host.server for host in facts.virt_hosts if node.name in host.guests}
    if carriers != {node.server}:
        yield Problem(
            f"{SERVER}={node.server or '(none)'}, but VirtHost {join_names(carriers)} carries it",
            "one carrier, named in the label",
        )
