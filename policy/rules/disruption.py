"""PodDisruptionBudgets: the drain of a node preserves every quorum's majority, and can finish."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.budgets_and_services import Budget
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, group_of, is_quorum, majority, pod_groups, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

_DRAIN = RuleSource("004", "5.5.9", 24)
_ONE_BY_ONE = RuleSource("004", "5.5.10", 15)


def _guards(facts: Facts, group: MemberGroup) -> dict[str, list[Budget]]:
    """Returns the budgets that select pods of each workload of a quorum (`group`), by the workload's title."""
    return {each.title: [budget for budget in facts.budgets if budget.selects(each)] for each in group.workloads}


def _evictable(facts: Facts, group: MemberGroup) -> bool:
    """Whether the group is a quorum with members that a drain can evict: not all of them are pods of DaemonSets."""
    return is_quorum(facts, group) and any(each.kind != "DaemonSet" for each in group.workloads)


@rule(
    id="quorum-has-budget",
    title="Every quorum has exactly one PodDisruptionBudget",
    severity=Severity.CRITICAL,
    rationale="A drain evicts the pods of a node as fast as it can. Only a PodDisruptionBudget makes a second drain "
    "wait until the first evicted member is back. If two budgets select a pod, every eviction of the pod is rejected.",
    sources=(_ONE_BY_ONE, RuleSource("project", "Quorums", 1)),
    remediation="Add one PodDisruptionBudget with maxUnavailable: 1 in the quorum's namespace whose selector matches "
    "the labels of all members' pods.",
    subjects=pod_groups,
    applies=_evictable,
    not_applicable_reason="no workload with several members forms a quorum",
)
def quorum_has_budget(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Matches the budgets' selectors with pod labels.

    Also reports separate budgets for members of one quorum, because they do not count each other's evictions.
    """
    guards = _guards(facts, group)
    for title, budgets in guards.items():
        names = join_names([budget.resource.name for budget in budgets])
        whose = "its pods" if len(guards) == 1 else f"the pods of {title}"
        if not budgets:
            yield RuleProblem(f"no PodDisruptionBudget selects {whose}", "exactly one")
        elif len(budgets) > 1:
            yield RuleProblem(f"{len(budgets)} PodDisruptionBudgets select {whose} ({names})", "exactly one")
    apart = {budgets[0].resource.name for budgets in guards.values() if len(budgets) == 1}
    if len(apart) > 1:
        yield RuleProblem(
            f"separate PodDisruptionBudgets for its members ({join_names(apart)})", "one that selects all members"
        )


@rule(
    id="budget-keeps-majority",
    title="A quorum's PodDisruptionBudget preserves its majority",
    severity=Severity.CRITICAL,
    rationale="If a budget allows the eviction of half of a quorum's members, draining nodes can stop the quorum.",
    sources=(
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Quorums", 1),
    ),
    remediation="Set maxUnavailable: 1, or minAvailable to half of the members rounded down plus one.",
    subjects=pod_groups,
    applies=lambda facts, group: _evictable(facts, group) and any(_guards(facts, group).values()),
    not_applicable_reason="no quorum of the stack has a disruption budget",
    parameters={"kept": "half of the members rounded down, plus one"},
)
def budget_keeps_majority(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Counts the members that remain after all evictions that a budget allows. Rounds percentages up as Kubernetes."""
    members = group.size(facts)
    for budget in facts.budgets:
        selected = sum(pods(facts, each) for each in group.workloads if budget.selects(each))
        left = members - budget.allowed(selected)
        # PostgreSQL instances do not vote: any remaining instance can be promoted.
        needed, why = (1, "to promote") if group.kind is QuorumKind.POSTGRES else (majority(members), "majority")
        if selected and left < needed:
            yield RuleProblem(
                f"{budget.title} ({budget.written}) leaves {left} of {members} members",
                f"at least {needed} ({why})",
            )


@rule(
    id="drain-can-finish",
    title="Every PodDisruptionBudget allows at least one eviction",
    severity=Severity.HIGH,
    rationale="A budget that allows no eviction blocks the drain of every node that runs one of its pods, so that "
    "these nodes cannot be maintained.",
    sources=(
        _DRAIN,
        _ONE_BY_ONE,
        RuleSource("project", "Updates", 2),
    ),
    remediation="Allow one eviction: maxUnavailable: 1, or minAvailable below the number of replicas.",
    subjects=lambda facts: facts.budgets,
    applies=lambda facts, budget: any(
        budget.selects(each) for each in facts.workloads if each.is_long_running and each.replicas
    ),
    not_applicable_reason="no disruption budget selects pods of a replicated workload",
)
def drain_can_finish(facts: Facts, budget: Budget) -> Iterator[RuleProblem]:
    """Assumes that all replicas are healthy.

    Adds up the pods of all workloads that the budget selects, as Kubernetes.
    """
    selected = [each for each in facts.workloads if each.is_long_running and each.replicas and budget.selects(each)]
    replicas = sum(each.replicas or 0 for each in selected)
    if budget.allowed(replicas) < 1:
        whose = join_names([each.title for each in selected])
        yield RuleProblem(
            f"{budget.written} allows no eviction of {whose} with {pluralize(replicas, 'replica')}",
            "at least one",
        )


@rule(
    id="budget-guards-one-workload",
    title="A PodDisruptionBudget selects the pods of one workload or one quorum",
    severity=Severity.HIGH,
    rationale="A budget that selects no pods protects nothing. If a budget also selects another workload's pods, for "
    "example a Job's, their number changes how many members may be evicted.",
    sources=(_DRAIN, RuleSource("project", "Quorums", 1)),
    remediation="Make the budget's selector equal to the pod labels of one workload in its namespace, with a label "
    "that no other pod there has.",
    subjects=lambda facts: facts.budgets,
    not_applicable_reason="the stack has no disruption budget",
)
def budget_guards_one_workload(facts: Facts, budget: Budget) -> Iterator[RuleProblem]:
    """Compares the budget's namespace and selector with the pods of every workload in the stack."""
    guarded = [workload for workload in facts.workloads if budget.selects(workload)]
    if not guarded:
        yield RuleProblem(f"selects no pods of the stack in namespace {budget.namespace}", "the pods of one workload")
    elif len(guarded) > 1 and not _one_quorum(facts, guarded):
        yield RuleProblem(
            f"selects the pods of {join_names([each.title for each in guarded])}", "the pods of one workload"
        )


def _one_quorum(facts: Facts, workloads: list[Workload]) -> bool:
    """Whether all workloads contain members of the same quorum."""
    if not all(each.is_long_running for each in workloads):
        return False
    group = group_of(facts, workloads[0])
    return all(each in group.workloads for each in workloads)
