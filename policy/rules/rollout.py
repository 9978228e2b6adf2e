"""Rolling updates of workloads: they can finish, keep the service running, and reach every instance."""

from __future__ import annotations

import math
from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.placement.placement_map import apart_keys
from policy.facts.product_defaults import DEPLOYMENT_SURGE, DEPLOYMENT_UNAVAILABLE, MEMBERS_UNAVAILABLE, Default
from policy.facts.quorums.quorums import MemberGroup, is_member, is_quorum, majority, pod_groups
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize


def _exclusive_deployment(facts: Facts, workload: Workload) -> bool:
    if workload.kind != "Deployment" or not workload.replicas:
        return False
    if workload.strategy.at("type").text("RollingUpdate") != "RollingUpdate":
        return False
    return bool(apart_keys(facts, workload))


@rule(
    id="rollout-can-finish",
    title="A rolling update that starts new pods first has a free node",
    severity=Severity.HIGH,
    rationale="With one instance per node, a rollout that starts a new pod before it stops an old one needs a free "
    "node. If every node already has an instance, the new pod stays Pending. With Kubernetes' defaults, a Deployment "
    "of three replicas (maxSurge 1, maxUnavailable 0) then stalls; with maxUnavailable 1 or more, new pods wait until "
    "old ones stop.",
    sources=(
        RuleSource("004", "5.5.10", 15),
        RuleSource("004", "5.5.9", 37),
        RuleSource("project", "Updates", 3),
    ),
    remediation="Set strategy.rollingUpdate to maxSurge: 0 and maxUnavailable: 1, or add a node.",
    subjects=lambda facts: facts.workloads,
    applies=_exclusive_deployment,
    not_applicable_reason="no Deployment keeps its instances on distinct nodes and replaces them by a rolling update",
)
def rollout_can_finish(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Requires room for one pod more than the replicas if maxSurge is above 0.

    Rounds maxSurge up and maxUnavailable down, as Kubernetes does.
    """
    replicas = workload.replicas or 0
    rolling = workload.strategy.at("rollingUpdate")
    surge = _pods(rolling.at("maxSurge").quantity(), DEPLOYMENT_SURGE, replicas, up=True)
    unavailable = _pods(rolling.at("maxUnavailable").quantity(), DEPLOYMENT_UNAVAILABLE, replicas, up=False)
    nodes = len(facts.eligible(workload))
    if surge > 0 and counts(facts).room(workload, replicas + 1) <= replicas:
        then = "the rollout stalls" if unavailable == 0 else "surge pods stay Pending until old pods stop"
        yield RuleProblem(
            f"{replicas} replicas, {pluralize(nodes, 'eligible node')} and maxSurge {surge}: {then}",
            f"maxSurge 0, or at least {pluralize(replicas + 1, 'node')}",
        )


def _known(facts: Facts, workload: Workload) -> bool:
    """Whether a long-running workload has a row in the reference architecture, or its pods are quorum members."""
    return workload.is_long_running and (facts.row(workload) is not None or is_member(facts, workload))


def _replaced(facts: Facts, workload: Workload) -> bool:
    kinds = ("Deployment", "StatefulSet", "DaemonSet")
    return workload.kind in kinds and _known(facts, workload) and _several(facts, workload)


def _several(facts: Facts, workload: Workload) -> bool:
    return (len(facts.eligible(workload)) if workload.replicas is None else workload.replicas) > 1


@rule(
    id="rollout-keeps-service",
    title="A rollout keeps instances running and preserves a quorum's majority",
    severity=Severity.HIGH,
    rationale="A rollout that stops all instances before new instances are ready interrupts the service. The strategy "
    "Recreate does so, and a maxUnavailable of 100% may.",
    sources=(
        RuleSource("004", "5.5.10", 15),
        RuleSource("004", "5.4.7", 9),
    ),
    remediation="Set the strategy to RollingUpdate with maxUnavailable: 1 (a DaemonSet may have a percentage).",
    subjects=lambda facts: facts.workloads,
    applies=_replaced,
    not_applicable_reason="no workload of the architecture has several instances",
    needs_architecture=True,
    since="0.2.0",
)
def rollout_keeps_service(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Counts the instances that remain while maxUnavailable of them are down. Assumes Kubernetes' defaults."""
    if workload.kind == "Deployment" and workload.strategy.at("type").text() == "Recreate":
        yield RuleProblem("strategy Recreate stops all instances at once", "RollingUpdate")
        return
    instances = len(facts.eligible(workload)) if workload.replicas is None else workload.replicas
    limit = workload.strategy.at("rollingUpdate", "maxUnavailable").quantity()
    others = workload.kind != "Deployment"
    gone = _pods(limit, MEMBERS_UNAVAILABLE if others else DEPLOYMENT_UNAVAILABLE, instances, up=others)
    # Two members tolerate no failure; the rules on sizes report that.
    left = majority(instances) if instances > 2 and is_member(facts, workload) else 1
    if instances - gone < left:
        yield RuleProblem(
            f"maxUnavailable {'(default)' if limit is None else limit} lets {min(gone, instances)} of {instances} "
            "pods be down at once",
            f"at least {left} running",
        )


@rule(
    id="rollout-reaches-all",
    title="A rollout updates every instance",
    severity=Severity.MEDIUM,
    rationale="A partitioned StatefulSet, the update strategy OnDelete, or a paused Deployment leaves instances on the "
    "old revision, although the update reports success.",
    sources=(RuleSource("project", "Updates", 1),),
    remediation="Remove rollingUpdate.partition, paused and OnDelete to let the rollout finish.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: (
        workload.kind in ("Deployment", "StatefulSet", "DaemonSet") and _known(facts, workload)
    ),
    not_applicable_reason="no Deployment, StatefulSet or DaemonSet has a row in the architecture or quorum members",
    since="0.2.0",
)
def rollout_reaches_all(_facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reports the settings paused, OnDelete and partition, with which a rollout leaves pods on the old revision."""
    if workload.kind == "Deployment":
        if workload.spec.at("paused").flag():
            yield RuleProblem("rollouts are paused", "paused: false")
    elif workload.strategy.at("type").text() == "OnDelete":
        yield RuleProblem("strategy OnDelete updates a pod only after a manual delete", "RollingUpdate")
    elif partition := workload.strategy.at("rollingUpdate", "partition").number(0):
        yield RuleProblem(f"partition {partition} keeps pods below that ordinal on the old revision", "no partition")


SKIP_AWAIT, WAIT_FOR = "pulumi.com/skipAwait", "pulumi.com/waitFor"


@rule(
    id="members-rollout-is-awaited",
    title="An update waits for the members of a quorum before it goes on",
    severity=Severity.HIGH,
    rationale="Quorums are rolled one after the other because Pulumi waits until all pods of the first are ready. With "
    "the annotation skipAwait it does not, and with waitFor it waits for a condition that may be true at once. Then it "
    "rolls the next quorum, or a client, while members are down.",
    sources=(RuleSource("004", "5.5.10", 15), RuleSource("project", "Updates", 8)),
    remediation="Remove the annotations pulumi.com/skipAwait and pulumi.com/waitFor. If the rollout takes longer than "
    "Pulumi waits, set pulumi.com/timeoutSeconds.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: _is_deployed(facts) and is_member(facts, workload),
    not_applicable_reason="no workload is a member of a quorum, or the stack only writes files",
    since="0.7.0",
)
def members_rollout_is_awaited(_facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads the annotation of Pulumi's Kubernetes provider. A rendered stack awaits nothing: its operator does."""
    annotations = workload.resource.props.at("metadata", "annotations").texts()
    if annotations.get(SKIP_AWAIT, "").lower() == "true":
        yield RuleProblem(f"annotation {SKIP_AWAIT} is true", "none")
    if WAIT_FOR in annotations:
        yield RuleProblem(f"annotation {WAIT_FOR} replaces the wait until all its pods are ready", "none")


def _rolls_together(facts: Facts, group: MemberGroup) -> bool:
    return _is_deployed(facts) and group.several and is_quorum(facts, group)


@rule(
    id="quorum-workloads-roll-in-turn",
    title="Workloads whose pods form one quorum are rolled one after the other",
    severity=Severity.HIGH,
    rationale="Pulumi updates resources at the same time unless one depends on the other. A change of all workloads of "
    "a quorum, such as a new image, then stops a member of each at once. Disruption budgets do not limit rollouts.",
    sources=(RuleSource("004", "5.5.10", 15), RuleSource("project", "Updates", 9)),
    remediation="Let each workload of the quorum depend on the one before it (depends_on), or use one StatefulSet.",
    subjects=pod_groups,
    applies=_rolls_together,
    not_applicable_reason="no quorum has members of several workloads, or the stack only writes files",
    since="0.7.0",
)
def quorum_workloads_roll_in_turn(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Requires an order between every two workloads of the group."""
    found = {
        each.title
        for index, one in enumerate(group.workloads)
        for other in group.workloads[:index]
        if not facts.order.is_before(one.resource, other.resource)
        and not facts.order.is_before(other.resource, one.resource)
        for each in (one, other)
    }
    if found:
        yield RuleProblem(f"{join_names(found)} are rolled at the same time", "depends_on between them, in a chain")


def _is_deployed(facts: Facts) -> bool:
    """Whether an update changes a running cluster: always, unless a Cloud of Quorate says that files are written."""
    return not facts.clouds or any(cloud.is_live for cloud in facts.clouds)


def _pods(quantity: int | str | None, default: Default, replicas: int, *, up: bool) -> int:
    if quantity is None and default.value.isdecimal():
        return int(default.value)
    written = default.value if quantity is None else quantity
    if isinstance(written, int):
        return written
    digits = written.removesuffix("%")
    if not written.endswith("%") or not digits.isdecimal():
        raise Malformed(f"'{written}' is neither a number nor a percentage")
    exact = replicas * int(digits) / 100
    return math.ceil(exact) if up else math.floor(exact)
