"""Members of a quorum on different physical hosts, and labels that say truly which those are."""

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
    title="No two members of a quorum share a physical host",
    severity=Severity.CRITICAL,
    rationale="Two virtual machines on one physical host are one failure domain. Members on different nodes of one "
    "host are lost together, and the quorum with them.",
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
    """A node without the label is outside every domain: the scheduler would not keep members apart there."""
    if workload.replicas is not None and not facts.is_anti_affine(workload, workload, SERVER):
        yield Problem(
            anti_affinity_gap(workload, SERVER), f"a required anti-affinity over {SERVER} that selects its own pods"
        )
    nodes = facts.eligible(workload)
    unlabelled = {node.name for node in nodes if not node.server}
    if unlabelled:
        yield Problem(
            f"{join_names(unlabelled)} may run it and have no label {SERVER}", "the label on each of its nodes"
        )
    servers = Counter(node.server for node in nodes if node.server)
    if workload.replicas is None:
        shared = [server for server, count in servers.items() if count > 1]
        if shared:
            yield Problem(
                f"nodes that run it share the physical host {join_names(shared)}", "one node per physical host"
            )
    elif len(servers) < workload.replicas:
        yield Problem(
            f"{pluralize(len(nodes), 'node')} that may run it are on {pluralize(len(servers), 'physical host')} "
            f"({join_names(list(servers))})",
            f"at least {workload.replicas}, one for each member",
        )


def _guest(facts: Facts, node: Node) -> bool:
    return any(node.name in host.guests for host in facts.virt_hosts)


@rule(
    id="server-label-is-true",
    title="A virtual machine's label names the host that carries it",
    severity=Severity.CRITICAL,
    rationale="Everything that keeps members on different physical hosts goes by the label quorate.io/server. A "
    "virtual machine whose label names another host than its own makes those rules pass while members share a host.",
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
    """The VirtHost is where the virtual machine is made."""
    carriers = {host.server for host in facts.virt_hosts if node.name in host.guests}
    if carriers != {node.server}:
        yield Problem(
            f"node {node.name} has {SERVER}={node.server or '(none)'} and is carried by {join_names(carriers)}",
            "one carrier, and its name in the label",
        )
