"""Services that stand where others do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names

NOVA = ("nova-api", "nova-conductor")
SERVER, L3 = "neutron-server", "neutron-l3-agent"
AGENTS: Mapping[str, tuple[str, ...]] = {
    L3: (SERVER,),
    "neutron-dhcp-agent": (SERVER,),
    "neutron-metadata-agent": (SERVER, L3),
}
"""Each agent with the services one of which it stands with."""


def _nodes_of(facts: Facts, *services: str) -> set[str]:
    """Nodes that may run one of these services."""
    those = (each for each in facts.workloads if each.is_long_running and facts.service(each) in services)
    return {node.name for each in those for node in facts.eligible(each)}


def _beside(service: str, *others: str) -> Callable[[Facts, Workload], bool]:
    """A workload of the service, in a stack that has one of the others."""
    return lambda facts, workload: (
        workload.is_long_running
        and facts.service(workload) == service
        and any(each.is_long_running and facts.service(each) in others for each in facts.workloads)
    )


@rule(
    id="scheduler-beside-nova",
    title="Nova's schedulers stand where other Nova services do, and take no node of their own",
    severity=Severity.LOW,
    rationale="A scheduler is light and goes beside API servers; nodes kept for it are missing elsewhere.",
    sources=(
        Source("004", "5.3.7", "schedulers can be placed to nodes running other Nova control plane services"),
        Source(
            "004",
            "5.4.7",
            "8 instances are distributed between the said dedicated nodes and/or nodes dedicated to other components",
        ),
    ),
    remediation="Let nova-scheduler run on the nodes of nova-api (node affinity and toleration of their taint), and "
    "keep no node for it.",
    subjects=lambda facts: facts.workloads,
    applies=_beside("nova-scheduler", *NOVA),
    not_applicable_reason="the stack has no nova-scheduler beside other Nova services",
    since="0.2.0",
)
def scheduler_beside_nova(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Some may stand with other components, none of them needs to stand with none of Nova's."""
    here = {node.name for node in facts.eligible(workload)}
    if not here & _nodes_of(facts, *NOVA):
        yield Problem(f"it may run on {join_names(here)}, where no {' or '.join(NOVA)} may", "some of their nodes")
    own = {node.name for node in facts.eligible(workload) if "nova-scheduler" in node.dedicated_to}
    if own:
        yield Problem(f"{join_names(own)} is kept for it alone", "nodes of other services")


@rule(
    id="network-agents-beside-server",
    title="L3, DHCP and metadata agents run on nodes of the Neutron server",
    severity=Severity.MEDIUM,
    rationale="The agents come with their server's nodes, which are sized and wired for networks. A metadata agent "
    "answers the routers of its own node.",
    sources=(
        Source(
            "004",
            "5.4.8",
            "L3 and DHCP agents are co-located with instances of Neutron Server on the same physical nodes",
        ),
        Source("004", "5.3.8", "they can share a node with other Neutron or control plane services"),
        Source("project", "Placement", "a metadata agent runs wherever an L3 or a DHCP agent runs"),
    ),
    remediation="Give the agents the node affinity and the tolerations of neutron-server.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: any(
        _beside(agent, *services)(facts, workload) for agent, services in AGENTS.items()
    ),
    not_applicable_reason="the stack has no agent of Neutron beside a Neutron server",
    parameters={agent: f"with {' or '.join(services)}" for agent, services in AGENTS.items()},
    since="0.2.0",
)
def network_agents_beside_server(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Nodes that may run them, not instance by instance: a required pod affinity could keep a drain from ending."""
    services = AGENTS[facts.service(workload) or ""]
    away = {node.name for node in facts.eligible(workload)} - _nodes_of(facts, *services)
    if away:
        yield Problem(
            f"it may run on {join_names(away)}, where no {' or '.join(services)} may",
            "nodes that may run one of them",
        )


@rule(
    id="radosgw-beside-monitors",
    title="The object gateway runs on the monitors' nodes",
    severity=Severity.LOW,
    rationale="The gateway is light and lives on what the monitors know: it needs no node of its own, and elsewhere "
    "it takes room that is meant for others.",
    sources=(
        Source("004", "5.3.14", "RADOS gateway servers run on the same nodes as Monitors"),
        Source("004", "5.4.14", "RADOS gateway servers run on the same nodes as Monitors"),
    ),
    remediation="Give radosgw the node affinity and the tolerations of ceph-mon.",
    subjects=lambda facts: facts.workloads,
    applies=_beside("radosgw", "ceph-mon"),
    not_applicable_reason="the stack has no radosgw beside Ceph monitors",
    since="0.2.0",
)
def radosgw_beside_monitors(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Nodes that may run a monitor."""
    away = {node.name for node in facts.eligible(workload)} - _nodes_of(facts, "ceph-mon")
    if away:
        yield Problem(f"it may run on {join_names(away)}, where no ceph-mon may", "only nodes that may run a monitor")
