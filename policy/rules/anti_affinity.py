"""Services that must not share nodes with certain other services."""

from __future__ import annotations

from collections.abc import Iterator

from contract import HOSTNAME
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_APART_ANYWAY = {"horizon": ("keystone",), "keystone": ("horizon",)}
"""The services that each service must not share nodes with, for stacks that name no reference architecture."""


def _rivals(facts: Facts, workload: Workload) -> tuple[str, ...]:
    if not workload.is_long_running:
        return ()
    row = facts.row(workload)
    return row.apart_from if row else _APART_ANYWAY.get(facts.service(workload) or "", ())


@rule(
    id="services-apart",
    title="Keystone and Horizon run on distinct nodes",
    severity=Severity.MEDIUM,
    rationale="Horizon can generate significant load, and one Apache server must not serve both Horizon and "
    "Keystone, because requests to every service depend on Keystone.",
    sources=(
        RuleSource("004", "5.4.6", 13),
        RuleSource("004", "5.4.11", 7),
    ),
    remediation="Let Keystone and Horizon run on different pools (node affinity on quorate.io/pool), or add a required "
    "podAntiAffinity over kubernetes.io/hostname to one of them that selects the other service's pods.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: bool(_rivals(facts, workload)),
    not_applicable_reason="the stack has no service that must run on other nodes than another service",
    parameters={"pairs": "apart_from of the architecture's rows; keystone and horizon without an architecture"},
)
def services_apart(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Accepts a required anti-affinity of either service, because the scheduler enforces it for pods of both."""
    rivals = _rivals(facts, workload)
    here = {node.name for node in facts.eligible(workload)}
    for other in facts.workloads:
        if other is workload or not other.is_long_running or facts.service(other) not in rivals:
            continue
        shared = here & {node.name for node in facts.eligible(other)}
        if shared and not counts(facts).never_meet(workload, other, HOSTNAME):
            yield RuleProblem(
                f"it may share {join_names(shared)} with {other.title}",
                "different nodes, or an anti-affinity between them",
            )
