"""Pods of quorum members: their resource requests, their time to stop, and the member counts in their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from policy.facts.kubernetes.workload import container_requests, kubernetes_kind
from policy.facts.pods import Pods, are_members, pods
from policy.facts.quorums.member_counts import mismatches
from policy.facts.quorums.quorums import MemberGroup, groups, is_quorum
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule

RESOURCES = ("cpu", "memory")


@lru_cache(maxsize=2)
def _limit_ranges(facts: Facts) -> Mapping[str, frozenset[str]]:
    """Returns the names of resources (cpu, memory) for which LimitRanges set default requests, by namespace."""
    found: dict[str, frozenset[str]] = {}
    for resource in facts.resources:
        if kubernetes_kind(resource) != "LimitRange":
            continue
        namespace = resource.props.at("metadata", "namespace").text("default")
        for limit in resource.props.at("spec", "limits").items():
            if limit.at("type").text() == "Container":
                names = {*limit.at("defaultRequest").keys(), *limit.at("default").keys()}
                found[namespace] = found.get(namespace, frozenset()) | names
    return found


@rule(
    id="members-request-resources",
    title="Every container of a quorum member requests CPU and memory",
    severity=Severity.HIGH,
    rationale="Without requests, kubelet evicts the pod first when memory is short, and the container gets the least "
    "CPU when the node is busy: it answers too late, and the other members elect without it.",
    sources=(RuleSource("project", "Quorums", 14),),
    remediation="Set resources.requests of cpu and memory for each container of the pod.",
    subjects=pods,
    applies=are_members,
    not_applicable_reason="no pod of the stack is a member of a quorum",
    parameters={"requests": ", ".join(RESOURCES)},
    since="0.4.0",
)
def members_request_resources(facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports containers without requests. A limit, a LimitRange or requests of the whole pod count as requests."""
    given = _limit_ranges(facts).get(each.namespace, frozenset())
    whole = container_requests(each.spec)
    for container in each.lasting_containers():
        own = container_requests(container)
        values = {"cpu": own.cpu or whole.cpu, "memory": own.memory or whole.memory}
        missing = [name for name in RESOURCES if not values[name] and name not in given]
        if missing:
            yield RuleProblem(
                f"container {container.at('name').text()} requests no {' and no '.join(missing)}",
                "resources.requests of cpu and memory",
            )


@rule(
    id="members-shut-down-in-time",
    title="Quorum members have time to shut down",
    severity=Severity.HIGH,
    rationale="With terminationGracePeriodSeconds: 0, every planned stop is a crash: the containers are killed at "
    "once. Kubernetes also deletes the Pod without waiting for kubelet. If the node is unreachable, a second pod with "
    "the same name can start while the first still runs.",
    sources=(RuleSource("project", "Quorums", 18),),
    remediation="Remove terminationGracePeriodSeconds (default: 30), or set the seconds that a member takes to stop.",
    subjects=pods,
    applies=are_members,
    not_applicable_reason="no pod of the stack is a member of a quorum",
    parameters={"least": "1 second"},
    since="0.4.0",
)
def members_shut_down_in_time(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Requires a grace period of at least 1 second, because 0 means a forced deletion.

    See https://kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod/.
    """
    if each.spec.at("terminationGracePeriodSeconds").number(30) < 1:
        yield RuleProblem("terminationGracePeriodSeconds is 0", "1 or more (default: 30)")


def _sized(facts: Facts, group: MemberGroup) -> bool:
    return bool(group.workloads) and is_quorum(facts, group)


@rule(
    id="members-agree-on-size",
    title="The settings of quorum members agree with the number of pods",
    severity=Severity.CRITICAL,
    rationale="A majority is counted over the members that the settings list. With five in the list and three pods, "
    "the loss of one pod ends the quorum. With bootstrap_expect 1, every member starts a cluster of its own.",
    sources=(RuleSource("project", "Quorums", 17),),
    remediation="List every pod once, under a URL of its own (initial-cluster, ZOO_SERVERS), and set bootstrap_expect "
    "and the quorum of `sentinel monitor` to at least a majority of the members.",
    subjects=groups,
    applies=_sized,
    not_applicable_reason="no quorum of several pods",
    since="0.4.0",
)
def members_agree_on_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Reads settings of etcd, ZooKeeper, Consul and Sentinel. Other programs have no setting with a member count."""
    yield from dict.fromkeys(RuleProblem(each.actual, each.expected) for each in mismatches(facts, group))
