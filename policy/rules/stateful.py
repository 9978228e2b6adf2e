"""What members need besides a place: data that outlives a pod, and names to find each other by."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import group_of, is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule


@rule(
    id="stateful-keeps-data",
    title="Members of a quorum have storage that outlives their pods",
    severity=Severity.CRITICAL,
    rationale="A member that comes back empty must copy everything from the others, and members that restart together "
    "have nothing to copy: a rollout or a blackout then ends the data.",
    sources=(
        Source("004", "5.3.5", "containers that run stateful services must have persistent storage attached to them"),
        Source("004", "5.3.13", "all DB servers work with the local disk storage"),
        Source(
            "004", "5.4.17", "database files are kept on the local storage devices of nodes that run database servers"
        ),
    ),
    remediation="Add a volumeClaimTemplate to the StatefulSet (or a volume of a claim or of a directory of the node).",
    subjects=lambda facts: facts.workloads,
    applies=is_member,
    not_applicable_reason="no workload is a member of a quorum",
    since="0.2.0",
)
def stateful_keeps_data(_facts: Facts, workload: Workload) -> Iterator[Problem]:
    """RabbitMQ too: what the seed calls stateless there, its queues, are logs on disk as quorum queues."""
    if not workload.keeps_data:
        yield Problem("no volume of its pods outlives them", "a claim for each member")


def _finds_others(facts: Facts, workload: Workload) -> bool:
    if not is_member(facts, workload) or workload.replicas is None:
        return False
    return workload.replicas > 1 or len(group_of(facts, workload).workloads) > 1


@rule(
    id="members-find-each-other",
    title="Members of a quorum have names of their own that others can resolve",
    severity=Severity.HIGH,
    rationale="Members know each other by name. Pods of a Deployment have a new name each time, and a StatefulSet "
    "without its headless Service has names that nobody resolves.",
    sources=(
        Source("004", "5.3.12", "hostnames of all cluster members must be resolvable from all cluster nodes"),
        Source("004", "5.4.12", "hostnames of all cluster members must be resolvable from all cluster nodes"),
    ),
    remediation="Make it a StatefulSet whose spec.serviceName is a headless Service (clusterIP: None) that selects its "
    "pods.",
    subjects=lambda facts: facts.workloads,
    applies=_finds_others,
    not_applicable_reason="no quorum of several members",
    since="0.2.0",
)
def members_find_each_other(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Host names of DaemonSets on the node's network are the nodes' own."""
    if workload.kind != "StatefulSet":
        yield Problem(f"pods of a {workload.kind} have no names that last", "a StatefulSet")
        return
    name = workload.spec.at("serviceName").text()
    headless = [each for each in facts.services if each.headless and each.selects(workload)]
    if not any(each.name == name for each in headless):
        there = f"serviceName {name} is no headless Service that selects its pods" if name else "it has no serviceName"
        yield Problem(there, "a headless Service of that name over its pods")
