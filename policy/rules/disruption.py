"""Disruption budgets: a drain leaves the majority, and can finish."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts import Facts
from policy.findings import Severity
from policy.kubernetes.selecting import Budget
from policy.kubernetes.workload import Workload
from policy.members import is_member, majority
from policy.rule import Problem, Source, rule
from policy.wording import listing

_DRAIN = Source("004", "5.5.9", "scale down: disable scheduling to the node, move workloads away from it")
_ONE_BY_ONE = Source("004", "5.5.10", "nodes are updated one by one, without stopping services on all of them")


def _quorum_of_several(facts: Facts, workload: Workload) -> bool:
    return is_member(facts, workload) and (workload.replicas or 0) > 1


@rule(
    id="quorum-has-budget",
    title="Every quorum has one disruption budget",
    severity=Severity.CRITICAL,
    rationale="A drain evicts pods as fast as it can. Only a PodDisruptionBudget makes the second drain wait until the "
    "first member is back. Under two budgets the eviction of a pod is refused altogether.",
    sources=(_ONE_BY_ONE, Source("004", "5.5.9", "check that quorum is satisfied before a node is decommissioned")),
    remediation="Add one PodDisruptionBudget with maxUnavailable: 1 in the workload's namespace whose selector "
    "matches its pod labels.",
    subjects=lambda facts: facts.workloads,
    applies=_quorum_of_several,
    otherwise="no workload of several members is a quorum",
)
def quorum_has_budget(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """The selector is compared with the labels of the pods."""
    guards = [budget.resource.name for budget in facts.budgets if budget.selects(workload)]
    if not guards:
        yield Problem("no PodDisruptionBudget selects its pods", "one")
    elif len(guards) > 1:
        yield Problem(f"{len(guards)} PodDisruptionBudgets select its pods ({listing(guards)})", "one")


@rule(
    id="budget-keeps-majority",
    title="A quorum's disruption budget keeps its majority",
    severity=Severity.CRITICAL,
    rationale="A budget that allows half of the members to be evicted at once allows an orderly drain to end the "
    "quorum.",
    sources=(
        Source("004", "5.5.9", "check that quorum is satisfied; a node's decommissioning must not cause data loss"),
        Source("004", "5.3.12", "preserve a quorum"),
    ),
    remediation="Set maxUnavailable: 1, or minAvailable to half of the members rounded down plus one.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: (
        _quorum_of_several(facts, workload) and any(budget.selects(workload) for budget in facts.budgets)
    ),
    otherwise="no quorum of the stack has a disruption budget",
    parameters={"kept": "half of the members rounded down, plus one"},
)
def budget_keeps_majority(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Percentages are rounded up, as the disruption controller does."""
    members = workload.replicas or 0
    for budget in facts.budgets:
        if budget.selects(workload) and members - budget.allowed(members) < majority(members):
            yield Problem(
                f"{budget.title} ({budget.written}) leaves {members - budget.allowed(members)} of {members} members",
                f"at least {majority(members)}, the majority",
            )


@rule(
    id="drain-can-finish",
    title="A disruption budget lets a drain finish",
    severity=Severity.HIGH,
    rationale="A budget that allows no eviction at all blocks every drain: nodes cannot be maintained, and somebody "
    "will delete the budget in a hurry.",
    sources=(_DRAIN, _ONE_BY_ONE),
    remediation="Allow one eviction: maxUnavailable: 1, or minAvailable below the number of replicas.",
    subjects=lambda facts: facts.budgets,
    applies=lambda facts, budget: any(
        budget.selects(each) for each in facts.workloads if each.lasting and each.replicas
    ),
    otherwise="no disruption budget selects pods of a replicated workload",
)
def drain_can_finish(facts: Facts, budget: Budget) -> Iterator[Problem]:
    """Judged with all replicas healthy."""
    for workload in facts.workloads:
        replicas = workload.replicas if workload.lasting else None
        if replicas and budget.selects(workload) and budget.allowed(replicas) < 1:
            yield Problem(
                f"{budget.written} allows no eviction of {workload.title} with its {replicas} replicas",
                "at least one that may be evicted",
            )


@rule(
    id="budget-guards-one-workload",
    title="A disruption budget selects one workload's pods and only them",
    severity=Severity.HIGH,
    rationale="A budget that selects nothing protects nothing and looks as if it did. One that counts the pods of "
    "another workload, a job's among them, lets that workload's loss or presence decide about the quorum.",
    sources=(_DRAIN, Source("ours", "design.md", "a PodDisruptionBudget that keeps the majority")),
    remediation="Make the budget's selector equal to the pod labels of one workload in its namespace, with a label "
    "that no other pod there has.",
    subjects=lambda facts: facts.budgets,
    otherwise="the stack has no disruption budget",
)
def budget_guards_one_workload(facts: Facts, budget: Budget) -> Iterator[Problem]:
    """Namespace and labels both count."""
    guarded = [workload.title for workload in facts.workloads if budget.selects(workload)]
    if not guarded:
        yield Problem(f"it selects no pods of the stack in namespace {budget.namespace}", "the pods of one workload")
    elif len(guarded) > 1:
        yield Problem(f"it selects the pods of {listing(guarded)}", "the pods of one workload")
