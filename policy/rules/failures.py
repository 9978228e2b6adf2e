"""The loss of one physical host, or of one rack, costs no quorum and no service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from contract import HOSTNAME, RACK, SERVER, ZONE
from policy.facts.kubernetes.node import Node
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import Group, groups, is_member, is_quorum, majority
from policy.facts.stack import LAB, PRODUCTION, Facts
from policy.findings import Enforcement, Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names

_NOWHERE = "(no label)"
"""Nodes that do not say where they are may all be in one place."""

Domain = Callable[[Node], str | None]


def _by_domain(nodes: Sequence[Node], domain: Domain) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(domain(node) or _NOWHERE, []).append(node)
    return found


def _most(facts: Facts, workload: Workload, nodes: Sequence[Node], apart: Sequence[str]) -> int:
    """The most of a workload's pods that its rules allow on these nodes, which are one domain.

    `apart`: labels of the domain; where they have one value in it, an anti-affinity over one of them leaves one pod.
    """
    if not nodes:
        return 0
    if workload.replicas is None:
        return len(nodes)
    if any(facts.is_anti_affine(workload, workload, key) for key in _of_one_value(apart, nodes)):
        return min(1, workload.replicas)
    if facts.is_anti_affine(workload, workload, SERVER) and all(node.server for node in nodes):
        return min(len({node.server for node in nodes}), workload.replicas)
    if facts.is_anti_affine(workload, workload, HOSTNAME) or workload.host_ports:
        return min(len(nodes), workload.replicas)
    return workload.replicas


def _of_one_value(labels: Sequence[str], nodes: Sequence[Node]) -> list[str]:
    """Labels that all of these nodes have, with one value: to an anti-affinity over one of them they are one place."""
    return [
        key for key in labels if len(values := {node.labels.get(key) for node in nodes}) == 1 and None not in values
    ]


def _lost(facts: Facts, workloads: Sequence[Workload], domain: Domain, apart: Sequence[str]) -> dict[str, int]:
    """The most pods of these workloads together that the loss of each domain may take."""
    places = [_by_domain(facts.eligible(each), domain) for each in workloads]
    found: dict[str, int] = {}
    for name in {name for place in places for name in place}:
        there = [place.get(name, []) for place in places]
        alone = [_most(facts, workload, nodes, apart) for workload, nodes in zip(workloads, there, strict=True)]
        total = sum(alone)
        if len(workloads) > 1:
            present = [workload for workload, count in zip(workloads, alone, strict=True) if count]
            all_nodes = [node for nodes in there for node in nodes]
            if any(_all_apart(facts, present, key) for key in _of_one_value(apart, all_nodes)):
                total = max(alone)
            elif _all_apart(facts, present, HOSTNAME) and all(_one_a_node(facts, each) for each in present):
                total = min(total, len({node.name for node in all_nodes}))
        found[name] = total
    return found


def _one_a_node(facts: Facts, workload: Workload) -> bool:
    return workload.replicas in (None, 1) or facts.is_anti_affine(workload, workload, HOSTNAME)


def _all_apart(facts: Facts, workloads: Sequence[Workload], topology: str) -> bool:
    pairs = ((one, other) for index, one in enumerate(workloads) for other in workloads[index + 1 :])
    return all(facts.is_anti_affine(one, other, topology) for one, other in pairs)


def _etcd_lost(facts: Facts, group: Group) -> dict[str, int]:
    """Members of etcd by the machine's own label, or by the component's word where the stack has no such machine."""
    servers = {node.name: node.server for node in facts.nodes}
    found: dict[str, set[str]] = {}
    for member in group.etcd.members if group.etcd else ():
        found.setdefault(servers.get(member.node) or member.server, set()).add(member.node)
    return {server: len(names) for server, names in found.items()}


def _fatal(lost: dict[str, int], bearable: int, pods: int, what: str, left: str) -> Iterator[Problem]:
    """One problem for each number of pods that some domain may take, when that is more than bearable."""
    for number in sorted({each for each in lost.values() if each > bearable}, reverse=True):
        names = [name for name, each in lost.items() if each == number]
        which = f"{what} {join_names(names)}" if len(names) == 1 else f"any one {what} of {join_names(names)}"
        yield Problem(f"the loss of {which} may take {number} of {pods}", left)


def _members(facts: Facts, group: Group) -> bool:
    if group.etcd:
        return len(group.etcd.members) > 1
    return is_quorum(facts, group)


@rule(
    id="quorum-survives-host",
    title="The loss of any one physical host leaves every quorum its majority",
    severity=Severity.CRITICAL,
    rationale="A physical host takes all its virtual machines with it. A quorum of which half may stand on one host is "
    "a single point of failure with the costs of a cluster.",
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
        Source("project", "Failure domains", "the loss of any one physical host leaves every quorum its majority"),
    ),
    remediation="Keep members apart over quorate.io/server (required podAntiAffinity), and spread the nodes that may "
    "run them over more physical hosts.",
    subjects=groups,
    applies=_members,
    not_applicable_reason="the stack has no quorum of several members",
    parameters={"domain": SERVER, "left": "half of the members rounded down, plus one"},
    since="0.2.0",
)
def quorum_survives_host(facts: Facts, group: Group) -> Iterator[Problem]:
    """The worst that the scheduler's rules allow, not what it happens to do. Nodes without a label count as one host.

    Of two members one may always go: that they are no quorum is for the rules of its size.
    """
    size = group.size(facts)
    lost = (
        _etcd_lost(facts, group) if group.etcd else _lost(facts, group.workloads, lambda node: node.server, (SERVER,))
    )
    left = f"at least {majority(size)} left, the majority"
    yield from _fatal(lost, max(1, size - majority(size)), size, "physical host", left)


def _several_instances(facts: Facts, workload: Workload) -> bool:
    """One whose instances may share a node is for one-instance-per-node."""
    if not workload.is_long_running or (workload.replicas or 0) < 2 or facts.row(workload) is None:
        return False
    if is_member(facts, workload):
        return False
    return facts.is_anti_affine(workload, workload, HOSTNAME) or workload.host_ports


@rule(
    id="service-survives-host",
    title="The loss of any one physical host leaves every service an instance",
    severity=Severity.HIGH,
    rationale="Instances on different nodes of one physical host are counted as several and lost as one.",
    sources=(
        Source("004", "5.3.7", "scaled horizontally by adding instances of it running on different physical servers"),
        Source(
            "004",
            "5.4.10",
            "the instances of scheduler service should be distributed between different physical servers",
        ),
        Source("004", "5.4.14", "multiple radosgw daemons should be used to provide redundancy of the service"),
        Source(
            "000",
            "Problem description",
            "full working HA will be possible with 3 physical nodes (each controller located on other physical server)",
        ),
    ),
    remediation="Let it run on nodes of further physical hosts, or add a required podAntiAffinity over "
    "quorate.io/server that selects its own pods.",
    subjects=lambda facts: facts.workloads,
    applies=_several_instances,
    not_applicable_reason="no service of the architecture has several instances that are no quorum",
    parameters={"domain": SERVER},
    since="0.2.0",
)
def service_survives_host(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """The worst that the scheduler's rules allow: a preference or a spread that may be skewed is no guarantee."""
    replicas = workload.replicas or 0
    lost = _lost(facts, (workload,), lambda node: node.server, (SERVER,))
    yield from _fatal(lost, replicas - 1, replicas, "physical host", "at least one instance elsewhere")


def _racks(facts: Facts) -> set[str]:
    return {node.rack for node in facts.nodes if node.rack}


def _in_racks(facts: Facts, group: Group) -> bool:
    if not group.workloads or not is_quorum(facts, group) or len(_racks(facts)) < 3:
        return False
    return all(node.rack for each in group.workloads for node in facts.eligible(each))


@rule(
    id="quorum-survives-rack",
    title="The loss of any one rack leaves every quorum its majority",
    severity=Severity.MEDIUM,
    rationale="A rack shares its switches and its power. The reference architectures stand in nine and thirty-five "
    "racks: members of a quorum have room to stand in different ones.",
    sources=(
        Source("004", "5.3.3", "servers are installed in 9 racks connected by ToR switches to spine switches"),
        Source("004", "5.4.3", "servers are installed in 35 racks connected by ToR switches to spine switches"),
        Source("project", "Failure domains", "the loss of any one rack leaves every quorum its majority"),
    ),
    remediation="Give the quorum nodes in different racks, or keep its members apart over quorate.io/rack.",
    subjects=groups,
    applies=_in_racks,
    not_applicable_reason="no quorum on nodes whose racks are known, or fewer than 3 racks in all",
    parameters={"domain": RACK, "racks": "3 or more in the stack"},
    enforcement={PRODUCTION: Enforcement.ADVISORY, LAB: Enforcement.ADVISORY},
    since="0.2.0",
)
def quorum_survives_rack(facts: Facts, group: Group) -> Iterator[Problem]:
    """No source demands it, so it only advises."""
    size = group.size(facts)
    lost = _lost(facts, group.workloads, lambda node: node.rack, (RACK, ZONE))
    yield from _fatal(
        lost, max(1, size - majority(size)), size, "rack", f"at least {majority(size)} left, the majority"
    )
