"""Instances of one service on distinct nodes, with a node for each of them."""

from __future__ import annotations

from collections.abc import Iterator

from contract import HOSTNAME
from policy.facts.kubernetes.scheduling import anti_affinity_gap
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.placement.placement_map import apart_keys
from policy.facts.quorums.quorums import group_of, is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize


def _known(facts: Facts, workload: Workload) -> bool:
    """Whether a long-running workload has a row in the reference architecture, or its pods are quorum members."""
    return workload.is_long_running and (facts.row(workload) is not None or is_member(facts, workload))


def _mates(facts: Facts, workload: Workload) -> tuple[Workload, ...]:
    """Returns the other workloads whose pods are members of the same quorum as this workload's pods."""
    group = group_of(facts, workload)
    if group.error:
        raise group.error
    return tuple(each for each in group.workloads if each is not workload)


def _can_meet(facts: Facts, one: Workload, other: Workload) -> bool:
    """Whether pods of two workloads can run on the same node. In a stack without nodes, only anti-affinity decides."""
    if counts(facts).never_meet(one, other, HOSTNAME):
        return False
    return not facts.nodes or max(counts(facts).worst((one, other), HOSTNAME).values(), default=0) > 1


def _several(facts: Facts, workload: Workload) -> bool:
    if workload.replicas is None or not _known(facts, workload):
        return False
    return workload.replicas > 1 or bool(_mates(facts, workload))


@rule(
    id="one-instance-per-node",
    title="Instances of a service run on distinct nodes",
    severity=Severity.CRITICAL,
    rationale="Several replicas keep a service available when a node fails. Two instances on one node fail together, "
    "and the scheduler may place them so unless a required anti-affinity forbids it. A preferred one does not.",
    sources=(
        RuleSource("004", "5.4.7", 24),
        RuleSource("004", "5.4.14", 17),
        RuleSource("004", "5.4.15", 38),
        RuleSource("project", "Placement", 4),
    ),
    remediation="Add a required podAntiAffinity with topologyKey kubernetes.io/hostname whose labelSelector selects "
    "the workload's own pod labels.",
    subjects=lambda facts: facts.workloads,
    applies=_several,
    not_applicable_reason="no service of the architecture and no quorum has several replicas",
    parameters={"topology": HOSTNAME},
)
def one_instance_per_node(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Accepts any constraint that limits a node to one pod: required anti-affinity or spread, or a host port."""
    several = (workload.replicas or 0) > 1
    if several and not counts(facts).one_each(workload):
        yield RuleProblem(
            anti_affinity_gap(workload, HOSTNAME),
            f"a required anti-affinity over {HOSTNAME} that selects its own pods",
        )
    beside = [each.title for each in _mates(facts, workload) if _can_meet(facts, workload, each)]
    if beside:
        yield RuleProblem(
            f"can share a node with {join_names(beside)}, members of the same quorum",
            f"a required anti-affinity over {HOSTNAME} that also selects their pods",
        )


@rule(
    id="replicas-fit-nodes",
    title="Every replica has an eligible node",
    severity=Severity.HIGH,
    rationale="With one instance per node, a workload with more replicas than eligible nodes has Pending pods, and "
    "a quorum has fewer members than its configuration states.",
    sources=(
        RuleSource("004", "5.4.16", 2),
        RuleSource("project", "Capacity", 2),
    ),
    remediation="Add nodes to the workload's pools, let it run on further pools (node affinity and tolerations), or "
    "lower spec.replicas.",
    subjects=lambda facts: facts.workloads,
    applies=_known,
    not_applicable_reason="no workload belongs to the architecture or is a quorum",
)
def replicas_fit_nodes(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the replicas with the eligible nodes, and with the hosts or racks that anti-affinity requires."""
    nodes, replicas = len(facts.eligible(workload)), workload.replicas or 1
    there = counts(facts).room(workload, replicas)
    if there >= replicas:
        return
    if nodes > there:
        keys = join_names(apart_keys(facts, workload))
        yield RuleProblem(
            f"{pluralize(nodes, 'eligible node')} in {pluralize(there, 'domain')} of {keys} for {replicas} replicas",
            f"at least {replicas} domains, one per replica",
        )
    else:
        apart = counts(facts).one_each(workload)
        needed = replicas if apart else 1
        why = "" if nodes else f" ({facts.why_not_eligible(workload)})"
        yield RuleProblem(
            f"{pluralize(nodes, 'eligible node')}{why} for {pluralize(replicas, 'replica')}",
            f"at least {needed}" + (", one per replica" if apart and workload.replicas else ""),
        )
