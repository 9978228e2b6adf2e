"""Services that must share nodes with certain other services."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

NOVA = ("nova-api", "nova-conductor")
SERVER, L3, DHCP, METADATA = "neutron-server", "neutron-l3-agent", "neutron-dhcp-agent", "neutron-metadata-agent"
NETWORK: Mapping[str, tuple[tuple[str, ...], ...]] = {
    L3: ((SERVER,), (METADATA,)),
    DHCP: ((SERVER,), (METADATA,)),
    METADATA: ((L3, DHCP),),
}
"""Groups of services by Neutron agent. Every node of the agent must run at least one service of each group."""

L2_AGENT = "neutron-l2-agent"
L2_AGENTS = (L2_AGENT, "ovn-controller")
"""The L2 agent, or what takes its place in a stack with OVN."""
NEEDS_L2 = ("nova-compute", L3, DHCP)


def _nodes_of(facts: Facts, *services: str) -> set[str]:
    """Returns the names of the nodes that are eligible for at least one of these services."""
    those = (each for each in facts.workloads if each.is_long_running and facts.service(each) in services)
    return {node.name for each in those for node in facts.eligible(each)}


def _nodes_with(facts: Facts, services: tuple[str, ...]) -> set[str]:
    """Returns the names of the nodes that run an instance of one of these services in every possible placement.

    A service is certain to run on each eligible node if it has as many instances as nodes, and two never share a node.
    """
    found: set[str] = set()
    for each in facts.workloads:
        if each.is_long_running and facts.service(each) in services:
            nodes = facts.eligible(each)
            if each.replicas is None or (each.replicas >= len(nodes) and counts(facts).one_each(each)):
                found |= {node.name for node in nodes}
    return found


def _beside(service: str, *others: str) -> Callable[[Facts, Workload], bool]:
    """Returns a predicate: whether a workload belongs to `service`, in a stack that also runs one of `others`."""
    return lambda facts, workload: (
        workload.is_long_running
        and facts.service(workload) == service
        and any(each.is_long_running and facts.service(each) in others for each in facts.workloads)
    )


@rule(
    id="scheduler-beside-nova",
    title="nova-scheduler shares nodes with other Nova services",
    severity=Severity.LOW,
    rationale="A scheduler needs few resources and can share nodes with API servers. Nodes that are dedicated to "
    "it are not available to other services.",
    sources=(
        RuleSource("004", "5.3.7", 19),
        RuleSource("004", "5.4.7", 37),
    ),
    remediation="Let nova-scheduler run on the nodes of nova-api (node affinity and toleration of their taint), and "
    "dedicate no node to it.",
    subjects=lambda facts: facts.workloads,
    applies=_beside("nova-scheduler", *NOVA),
    not_applicable_reason="the stack has no nova-scheduler, or no other Nova service",
    since="0.2.0",
)
def scheduler_beside_nova(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Requires a node that is eligible for nova-scheduler and another Nova service, and no dedicated nodes."""
    here = {node.name for node in facts.eligible(workload)}
    if not here & _nodes_of(facts, *NOVA):
        yield RuleProblem(
            f"can run on {join_names(here)}, none of which can run {' or '.join(NOVA)}", "some of their nodes"
        )
    own = {node.name for node in facts.eligible(workload) if "nova-scheduler" in node.dedicated_to}
    if own:
        yield RuleProblem(f"has dedicated nodes {join_names(own)}", "nodes of other services")


@rule(
    id="network-agents-beside-server",
    title="Every node with a Neutron L3 or DHCP agent runs a Neutron server and a metadata agent",
    severity=Severity.MEDIUM,
    rationale="L3 and DHCP agents share the nodes of Neutron server instances. A metadata agent serves only the "
    "routers and DHCP servers of its own node: without a metadata agent there, virtual machines get no metadata. "
    "Equal sets of eligible nodes are not enough: three instances of each service can run on different nodes of the "
    "same five.",
    sources=(
        RuleSource("004", "5.4.8", 32),
        RuleSource("004", "5.3.8", 31),
        RuleSource("project", "Placement", 1),
    ),
    remediation="Let these services run on the same nodes, with as many instances of each as there are nodes and a "
    "required podAntiAffinity over kubernetes.io/hostname. Pod affinity is not enough: it is not enforced when a "
    "rollout moves the pod that the affinity refers to.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: any(
        _beside(agent, *sum(needs, ()))(facts, workload) for agent, needs in NETWORK.items()
    ),
    not_applicable_reason="the stack has no Neutron agent, or no Neutron server",
    parameters={agent: " and ".join(" or ".join(each) for each in needs) for agent, needs in NETWORK.items()},
    since="0.2.0",
)
def network_agents_beside_server(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Evaluates the worst placement of the instances. Services with the same eligible nodes can still run apart."""
    here = {node.name for node in facts.eligible(workload)}
    there = {facts.service(each) for each in facts.workloads if each.is_long_running}
    for services in NETWORK[facts.service(workload) or ""]:
        # every-row-has-workload reports a service without any workload.
        without = here - _nodes_with(facts, services) if there & set(services) else set[str]()
        if without:
            yield RuleProblem(
                f"can run on {join_names(without)}, which can be without {' or '.join(services)}",
                f"nodes that always run {' or '.join(services)}",
            )


@rule(
    id="l2-agent-goes-along",
    title="The Neutron L2 agent runs on every compute, L3 and DHCP agent node",
    severity=Severity.HIGH,
    rationale="The L2 agent connects the ports of virtual machines, routers and DHCP servers. On a node without an L2 "
    "agent, the routers of an L3 agent have no connectivity.",
    sources=(
        RuleSource("004", "5.4.8", 22),
        RuleSource("004", "5.3.8", 22),
    ),
    remediation="Extend the L2 agent's node affinity and tolerations to these nodes, or exclude them from the node "
    "affinity of the other services.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: workload.is_long_running and facts.service(workload) in NEEDS_L2,
    not_applicable_reason=f"the stack has none of {', '.join(NEEDS_L2)}",
)
def l2_agent_goes_along(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Counts only L2 agents in DaemonSets, which run on all eligible nodes. Several DaemonSets may cover the nodes."""
    agents = [each for each in facts.workloads if each.kind == "DaemonSet" and facts.service(each) in L2_AGENTS]
    served = {node.name for agent in agents for node in facts.eligible(agent)}
    without = {node.name for node in facts.eligible(workload)} - served
    if without:
        yield RuleProblem(
            f"can run on {join_names(without)}, which have no {L2_AGENT}",
            f"the {L2_AGENT} DaemonSet on all its nodes",
        )


@rule(
    id="radosgw-beside-monitors",
    title="radosgw runs on the Ceph monitor nodes",
    severity=Severity.LOW,
    rationale="The gateway needs few resources and no dedicated node. On other nodes it uses capacity that is planned "
    "for other services.",
    sources=(
        RuleSource("004", "5.3.14", 35),
        RuleSource("004", "5.4.14", 35),
    ),
    remediation="Give radosgw the node affinity and the tolerations of ceph-mon.",
    subjects=lambda facts: facts.workloads,
    applies=_beside("radosgw", "ceph-mon"),
    not_applicable_reason="the stack has no radosgw, or no Ceph monitor, as with an external Ceph",
    since="0.2.0",
)
def radosgw_beside_monitors(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Requires that every node that is eligible for radosgw is also eligible for ceph-mon."""
    away = {node.name for node in facts.eligible(workload)} - _nodes_of(facts, "ceph-mon")
    if away:
        yield RuleProblem(f"can run on {join_names(away)}, which cannot run ceph-mon", "only monitor nodes")
