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

OSD = "ceph-osd"


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


@rule(
    id="nothing-beside-osd",
    title="Ceph OSD nodes run only OSDs and node agents",
    severity=Severity.HIGH,
    rationale="OSDs need many resources while they recover lost data. Other services on their nodes slow the "
    "recovery down.",
    sources=(
        RuleSource("004", "5.4.14", 24),
        RuleSource("004", "5.3.14", 24),
    ),
    remediation="Taint the storage nodes (quorate.io/dedicated=storage:NoSchedule) and let ceph-osd alone tolerate it.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: (
        not workload.node_agent
        and facts.service(workload) != OSD
        and any(facts.service(each) == OSD for each in facts.workloads)
    ),
    not_applicable_reason="the stack has no ceph-osd, or no other workload",
)
def nothing_beside_osd(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Also evaluates Jobs: a backup that runs on an OSD node competes with the OSDs for resources."""
    osd = {node.name for each in facts.workloads if facts.service(each) == OSD for node in facts.eligible(each)}
    shared = osd & {node.name for node in facts.eligible(workload)}
    if shared:
        yield RuleProblem(f"can run on OSD nodes {join_names(shared)}", "nodes without OSDs")
