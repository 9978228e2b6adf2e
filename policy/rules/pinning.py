"""Pools of quorum nodes that the stack file sets."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums.quorums import is_member
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names


def _applies(facts: Facts, workload: Workload) -> bool:
    if facts.profile != PRODUCTION or not facts.nodes or not is_member(facts, workload):
        return False
    return any(node.is_pinned is not None for node in facts.eligible(workload))


@rule(
    id="quorum-nodes-pinned",
    title="The stack file sets the pool of every node that can run a quorum member",
    severity=Severity.MEDIUM,
    rationale="Quorate's planner chooses a pool for each server without a pool in the stack file, and chooses again at "
    "each change. Adding a server can then move another server to another quorum's pool: one quorum loses a member.",
    sources=(RuleSource("project", "Identity", 1),),
    remediation="Run `make pin` for the stack and commit the stack file. The command writes the pools that the planner "
    "chose into the stack file, and moves no server.",
    subjects=lambda facts: facts.workloads,
    applies=_applies,
    not_applicable_reason="the stack is a lab, or no machine for a quorum's members states how its pool was set",
    since="0.3.0",
)
def quorum_nodes_pinned(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Accepts nodes whose pool the stack file sets with `pool`, a role or a topology."""
    chosen = [node.name for node in facts.eligible(workload) if node.is_pinned is False]
    if chosen:
        yield RuleProblem(
            f"the planner chose the pool of {join_names(chosen)}", "pool written beside each in the stack file"
        )
