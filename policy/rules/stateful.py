"""Persistent data and stable names of quorum members."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums.data_directories import data_directories, kept_directories
from policy.facts.quorums.quorums import cluster_of, is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.rule import IN_ANY_PROFILE, RuleProblem, RuleSource, rule
from policy.wording import join_names


def _can_move(facts: Facts, workload: Workload) -> bool:
    """Whether a pod of the workload may run on another node after a restart.

    False for a DaemonSet, and for a workload with a single eligible node.
    """
    if workload.replicas is None:
        return False
    return not facts.nodes or len(facts.eligible(workload)) > 1


@rule(
    id="stateful-keeps-data",
    title="Each quorum member has persistent storage of its own",
    severity=Severity.CRITICAL,
    rationale="A member that restarts without data must copy everything from the other members. If all members restart "
    "at once, the data is lost. Members that share one claim share its files, and all fail with its volume. With the "
    "retention policy Delete, the data is deleted when the StatefulSet is scaled down or deleted.",
    sources=(
        RuleSource("004", "5.3.5", 47),
        RuleSource("004", "5.3.13", 14),
        RuleSource("004", "5.4.17", 19),
    ),
    remediation="Add a volumeClaimTemplate to the StatefulSet, or give each member a claim of its own. A hostPath is "
    "enough only where pods cannot change nodes: in a DaemonSet, or with a single eligible node. Set "
    "persistentVolumeClaimRetentionPolicy to Retain (the default).",
    subjects=lambda facts: facts.workloads,
    applies=is_member,
    not_applicable_reason="no workload is a member of a quorum",
    since="0.2.0",
    enforcement=IN_ANY_PROFILE,
)
def stateful_keeps_data(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Also evaluates RabbitMQ: source document 004 calls it stateless, but quorum queues store their logs on disk."""
    if not workload.keeps_data:
        yield RuleProblem("no volume outlives the pod", "a volumeClaimTemplate, a claim or, of a DaemonSet, a hostPath")
    elif not (workload.claim_templates or workload.claim_names) and _can_move(facts, workload):
        yield RuleProblem("its data is in a hostPath, and its pods can change nodes", "a volumeClaimTemplate")
    yield from _elsewhere(facts, workload)
    if workload.claim_names and (workload.replicas is None or workload.replicas > 1):
        yield RuleProblem(
            f"all its pods mount the same claim {join_names(workload.claim_names)}", "a volumeClaimTemplate"
        )
    retention = workload.spec.at("persistentVolumeClaimRetentionPolicy")
    for event in ("whenScaled", "whenDeleted"):
        if retention.at(event).text() == "Delete":
            yield RuleProblem(f"persistentVolumeClaimRetentionPolicy.{event} is Delete", "Retain (the default)")
    for mate in cluster_of(facts, workload).workloads:
        if mate is not workload and (shared := mate.claim_names & workload.claim_names):
            yield RuleProblem(f"shares claim {join_names(shared)} with {mate.title}", "a claim for each member")


def _elsewhere(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reports directories of data that are not in a volume that outlives the pod, if such a volume is mounted."""
    kept = kept_directories(workload)
    for each in dict.fromkeys(data_directories(facts, workload)) if kept else ():
        if not any(f"{each.path.rstrip('/')}/".startswith(f"{path.rstrip('/')}/") for path in kept):
            yield RuleProblem(
                f"{each.setting} is {each.path}, which is lost with the pod: its volumes are at {join_names(kept)}",
                "a directory in a volume that outlives the pod",
            )


def _finds_others(facts: Facts, workload: Workload) -> bool:
    if not is_member(facts, workload) or workload.replicas is None:
        return False
    return workload.replicas > 1 or len(cluster_of(facts, workload).workloads) > 1


@rule(
    id="members-find-each-other",
    title="Quorum members have stable names that other members can resolve",
    severity=Severity.HIGH,
    rationale="Members address each other by name. Pods of a Deployment get a new name at each start, and names of "
    "a StatefulSet without its headless Service cannot be resolved. After a failure of all members none is ready, and "
    "names of pods that are not ready are resolved only if the Service publishes them.",
    sources=(
        RuleSource("004", "5.3.12", 41),
        RuleSource("004", "5.4.12", 41),
        RuleSource("project", "Quorums", 7),
    ),
    remediation="Use a StatefulSet whose spec.serviceName is a headless Service (clusterIP: None) that selects its "
    "pods and has publishNotReadyAddresses: true.",
    subjects=lambda facts: facts.workloads,
    applies=_finds_others,
    not_applicable_reason="the stack has no quorum of several members",
    since="0.2.0",
)
def members_find_each_other(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Requires a StatefulSet with a headless Service. Members in a DaemonSet use the host names of their nodes."""
    if workload.kind != "StatefulSet":
        yield RuleProblem(f"pods of a {workload.kind} have no stable names", "a StatefulSet")
        return
    yield from _resolves(workload.pod)
    name = workload.spec.at("serviceName").text()
    headless = [each for each in facts.services if each.headless and each.selects(workload)]
    if not any(each.name == name for each in headless):
        there = f"serviceName {name} is not a headless Service that selects its pods" if name else "no serviceName"
        yield RuleProblem(there, "a headless Service that selects its pods")
    for each in headless:
        if each.name == name and not each.publishes_starting_pods:
            yield RuleProblem(
                f"{each.title} publishes no addresses of pods that are not ready, and after a failure of all members "
                "none is",
                "publishNotReadyAddresses: true in its spec",
            )


def _resolves(pod: Properties) -> Iterator[RuleProblem]:
    """Reports pods that ask the node's DNS servers, which do not know the names of the cluster."""
    if pod.at("dnsConfig", "nameservers").given() or pod.at("hostAliases").given():
        return
    policy, host = pod.at("dnsPolicy").text("ClusterFirst"), pod.at("hostNetwork").flag()
    if policy == "Default" or (host and policy != "ClusterFirstWithHostNet"):
        with_host = " with hostNetwork" if host else ""
        yield RuleProblem(
            f"dnsPolicy {policy}{with_host} resolves no names of the cluster",
            "ClusterFirstWithHostNet" if host else "ClusterFirst",
        )
