"""Effects of the failure of one physical host or one rack on quorums and services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contract import RACK, SERVER
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.quorums.quorums import MemberGroup, groups, is_member, is_quorum, majority
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from policy.wording import join_names

_NOWHERE = "(no label)"
"""Name in messages for the nodes without a host or rack label, which count as one host or rack."""


def _lost(facts: Facts, group: MemberGroup, label: str) -> Mapping[str, int]:
    """Returns how many members of a quorum the loss of one host or rack can take at most, by the value of `label`."""
    return _etcd_lost(facts, group, label) if group.etcd else counts(facts).worst(group.workloads, label)


def _etcd_lost(facts: Facts, group: MemberGroup, label: str) -> dict[str, int]:
    """Counts the members of an etcd cluster on machines by the value of `label`.

    Uses the label of the member's node, the property of its machine, or else the host that the Etcd component names.
    """
    nodes = {node.name: node for node in facts.places}
    found: dict[str, set[str]] = {}
    for member in group.etcd.members if group.etcd else ():
        told = nodes[member.node].labels.get(label) if member.node in nodes else None
        found.setdefault(told or (member.server if label == SERVER else ""), set()).add(member.node)
    return {domain: len(names) for domain, names in found.items()}


def _fatal(lost: Mapping[str, int], bearable: int, pods: str, what: str, left: str) -> Iterator[RuleProblem]:
    """Yields a problem for the hosts or racks whose loss takes more than `bearable` pods, grouped by that number.

    `lost`: number of lost pods by host or rack. `pods`, `what`, `left`: parts of the message.
    """
    for number in sorted({each for each in lost.values() if each > bearable}, reverse=True):
        names = [name or _NOWHERE for name, each in lost.items() if each == number]
        which = f"{what} {join_names(names)}" if len(names) == 1 else f"any one {what} of {join_names(names)}"
        yield RuleProblem(f"losing {which} can take {number} of {pods}", left)


def _members(facts: Facts, group: MemberGroup) -> bool:
    if group.etcd:
        return len(group.etcd.members) > 1
    return is_quorum(facts, group)


@rule(
    id="quorum-survives-host",
    title="Every quorum keeps its majority when any one physical host fails",
    severity=Severity.CRITICAL,
    rationale="When a physical host fails, all its virtual machines fail with it. If half of a quorum's members may "
    "run on one host, that host is a single point of failure.",
    sources=(
        RuleSource("000", "Problem description", 3),
        RuleSource("004", "5.4.14", 19),
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Failure domains", 3),
    ),
    remediation="Keep members apart over quorate.io/server (required podAntiAffinity), and spread the nodes that may "
    "run them over more physical hosts.",
    subjects=groups,
    applies=_members,
    not_applicable_reason="the stack has no quorum of several members",
    parameters={"domain": SERVER, "left": "half of the members rounded down, plus one"},
    since="0.2.0",
)
def quorum_survives_host(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Evaluates the worst placement that the scheduling rules allow. Nodes without the host label count as one host.

    The loss of one of two members is not reported here, because the rules on sizes report a quorum of two members.
    """
    size = group.size(facts)
    lost = _lost(facts, group, SERVER)
    left = f"at least {majority(size)} left (majority)"
    yield from _fatal(lost, max(1, size - majority(size)), f"{size} members", "physical host", left)


def _several_instances(facts: Facts, workload: Workload) -> bool:
    """Whether a workload of the architecture, not a quorum, has several instances that always run on distinct nodes.

    The rule one-instance-per-node reports workloads whose instances can share a node.
    """
    if not workload.is_long_running or (workload.replicas or 0) < 2 or facts.row(workload) is None:
        return False
    if is_member(facts, workload):
        return False
    return counts(facts).one_each(workload)


@rule(
    id="service-survives-host",
    title="Every service keeps an instance when any one physical host fails",
    severity=Severity.HIGH,
    rationale="Instances on different nodes that are virtual machines of one physical host fail together with it.",
    sources=(
        RuleSource("004", "5.3.7", 22),
        RuleSource("004", "5.4.10", 13),
        RuleSource("004", "5.4.14", 28),
        RuleSource("000", "Problem description", 3),
    ),
    remediation="Let the service run on nodes of further physical hosts, or add a required podAntiAffinity over "
    "quorate.io/server that selects the service's own pods.",
    subjects=lambda facts: facts.workloads,
    applies=_several_instances,
    not_applicable_reason="no service of the architecture, quorums apart, runs several instances on distinct nodes",
    needs_architecture=True,
    parameters={"domain": SERVER},
    since="0.2.0",
)
def service_survives_host(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Evaluates the worst placement that the scheduling rules allow. Preferred anti-affinity does not limit it."""
    replicas = workload.replicas or 0
    lost = counts(facts).worst((workload,), SERVER)
    yield from _fatal(lost, replicas - 1, f"{replicas} instances", "physical host", "at least one on another host")


def _racks(facts: Facts) -> set[str]:
    return {node.rack for node in facts.places if node.rack}


def _in_racks(facts: Facts, group: MemberGroup) -> bool:
    if not _members(facts, group) or len(_racks(facts)) < 2:
        return False
    if group.etcd:
        racks = {node.name: node.rack for node in facts.places}
        return all(racks.get(member.node) for member in group.etcd.members)
    return all(node.rack for each in group.workloads for node in facts.eligible(each))


@rule(
    id="quorum-survives-rack",
    title="Every quorum keeps its majority when any one rack fails",
    severity=Severity.MEDIUM,
    rationale="A rack shares its switches and its power. The reference architectures have nine and thirty-five racks, "
    "so that members of a quorum can run in different racks. With only two racks, one of them has half of the members "
    "or more.",
    sources=(RuleSource("project", "Failure domains", 4),),
    remediation="Give the quorum nodes in three or more racks, or keep its members apart over quorate.io/rack.",
    subjects=groups,
    applies=_in_racks,
    not_applicable_reason="no quorum runs on nodes whose racks are all known, or all nodes are in one rack",
    parameters={"domain": RACK, "racks": "2 or more in the stack"},
    enforcement=ADVISORY,
    since="0.2.0",
)
def quorum_survives_rack(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Advisory, because no source document requires racks. In a stack with two racks, the finding asks for a third."""
    size = group.size(facts)
    lost = _lost(facts, group, RACK)
    left = f"at least {majority(size)} left (majority)" + ", which takes a third rack" * (len(_racks(facts)) == 2)
    yield from _fatal(lost, max(1, size - majority(size)), f"{size} members", "rack", left)
