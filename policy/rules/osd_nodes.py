"""Nodes with Ceph's OSDs, on which nothing else runs."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

OSD = "ceph-osd"


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
    not_applicable_reason="the stack has no ceph-osd, as with an external Ceph, or no other workload",
)
def nothing_beside_osd(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Also evaluates Jobs: a backup that runs on an OSD node competes with the OSDs for resources."""
    osd = {node.name for each in facts.workloads if facts.service(each) == OSD for node in facts.eligible(each)}
    shared = osd & {node.name for node in facts.eligible(workload)}
    if shared:
        yield RuleProblem(f"can run on OSD nodes {join_names(shared)}", "nodes without OSDs")
