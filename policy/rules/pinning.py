"""Nodes of quorums with a written pool."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import is_member
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names


def _applies(facts: Facts, workload: Workload) -> bool:
    if facts.profile != PRODUCTION or not facts.nodes or not is_member(facts, workload):
        return False
    return any(node.is_pinned is not None for node in facts.eligible(workload))


@rule(
    id="quorum-nodes-pinned",
    title="Nodes of a quorum's pool have their pool written in the stack file",
    severity=Severity.MEDIUM,
    rationale="The planner chooses unwritten pools again at each change. A server that is added or removed can then "
    "move another server to a different quorum: one quorum loses a member and waits for a new one.",
    sources=(Source("project", "Identity", 1),),
    remediation="Run make pin for the stack and commit the stack file: it writes the pools that the plan chose, and "
    "moves nothing.",
    subjects=lambda facts: facts.workloads,
    applies=_applies,
    not_applicable_reason="the stack is a lab, or no machine for a quorum's members states how its pool was set",
    since="0.3.0",
)
def quorum_nodes_pinned(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Accepts a pool that is set by `pool`, by a role or by a topology."""
    chosen = [node.name for node in facts.eligible(workload) if node.is_pinned is False]
    if chosen:
        yield Problem(
            f"the planner chose the pool of {join_names(chosen)}", "pool written beside each in the stack file"
        )
