"""Rollouts that can come to their end."""

from __future__ import annotations

import math
from collections.abc import Iterator

from contract import HOSTNAME
from policy.facts.kubernetes.workload import Workload
from policy.facts.properties import Malformed
from policy.facts.quorums import is_member, majority
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import pluralize

_DEFAULT = "25%"
"""Kubernetes' own maxSurge and maxUnavailable."""


def _exclusive_deployment(facts: Facts, workload: Workload) -> bool:
    if workload.kind != "Deployment" or not workload.replicas:
        return False
    if workload.strategy.at("type").text("RollingUpdate") != "RollingUpdate":
        return False
    return facts.is_anti_affine(workload, workload, HOSTNAME) or workload.host_ports


@rule(
    id="rollout-can-finish",
    title="A rollout has a node for every pod that it adds",
    severity=Severity.HIGH,
    rationale="With one instance per node, a rollout that starts a new pod before it ends an old one needs a free "
    "node. Where every node has its instance already the new pod stays Pending, and with the default of three "
    "replicas (maxSurge 1, maxUnavailable 0) the rollout never moves.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "nodes has to be updated one-by-one, without restarting services on all nodes simultaneously",
        ),
        Source(
            "004",
            "5.5.9",
            "verify that updating single service or a set of thereof doesn't degrade functions of the cluster",
        ),
    ),
    remediation="Set strategy.rollingUpdate to maxSurge: 0 and maxUnavailable: 1, or give it one more node.",
    subjects=lambda facts: facts.workloads,
    applies=_exclusive_deployment,
    not_applicable_reason="no Deployment keeps its instances on different nodes and replaces them one after another",
)
def rollout_can_finish(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Percentages as the Deployment controller rounds them: surge up, unavailable down."""
    replicas = workload.replicas or 0
    rolling = workload.strategy.at("rollingUpdate")
    surge = _pods(rolling.at("maxSurge").quantity(), replicas, up=True)
    unavailable = _pods(rolling.at("maxUnavailable").quantity(), replicas, up=False)
    nodes = len(facts.eligible(workload))
    if surge > 0 and replicas >= nodes:
        then = "it never moves" if unavailable == 0 else "its new pods wait for old ones to end"
        yield Problem(
            f"{replicas} replicas fill {pluralize(nodes, 'node')} and the rollout adds {surge} (maxSurge): {then}",
            f"maxSurge 0, or at least {pluralize(replicas + 1, 'node')}",
        )


def _known(facts: Facts, workload: Workload) -> bool:
    """A service of the architecture, or a quorum."""
    return workload.is_long_running and (facts.row(workload) is not None or is_member(facts, workload))


def _replaced(facts: Facts, workload: Workload) -> bool:
    kinds = ("Deployment", "StatefulSet", "DaemonSet")
    return workload.kind in kinds and _known(facts, workload) and _several(facts, workload)


def _several(facts: Facts, workload: Workload) -> bool:
    return (len(facts.eligible(workload)) if workload.replicas is None else workload.replicas) > 1


@rule(
    id="rollout-keeps-service",
    title="A rollout leaves instances running, and a quorum its majority",
    severity=Severity.HIGH,
    rationale="A rollout that ends all instances before the new ones are ready is an outage with a name. Strategy "
    "Recreate does so by definition, maxUnavailable of 100% by permission.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "nodes has to be updated one-by-one, without restarting services on all nodes simultaneously",
        ),
        Source("004", "5.4.7", "it is recommended to run at least 3 instances of API server at any time"),
    ),
    remediation="Set the strategy to RollingUpdate with maxUnavailable: 1 (a DaemonSet may have a percentage).",
    subjects=lambda facts: facts.workloads,
    applies=_replaced,
    not_applicable_reason="no workload of the architecture has several instances",
    since="0.2.0",
)
def rollout_keeps_service(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Without a limit a Deployment ends a quarter of its pods at once, rounded down, others one after another."""
    if workload.kind == "Deployment" and workload.strategy.at("type").text() == "Recreate":
        yield Problem("strategy Recreate ends all instances at once", "RollingUpdate")
        return
    instances = len(facts.eligible(workload)) if workload.replicas is None else workload.replicas
    limit = workload.strategy.at("rollingUpdate", "maxUnavailable").quantity()
    others = workload.kind != "Deployment"
    gone = _pods(1 if others and limit is None else limit, instances, up=others)
    # Two members are no quorum, which their size's own rule says.
    left = majority(instances) if instances > 2 and is_member(facts, workload) else 1
    if instances - gone < left:
        yield Problem(
            f"maxUnavailable {'by default' if limit is None else limit} lets a rollout end {min(gone, instances)} "
            f"of {instances} instances at once",
            f"at least {left} that keep running",
        )


@rule(
    id="rollout-reaches-all",
    title="A rollout reaches every instance",
    severity=Severity.MEDIUM,
    rationale="A StatefulSet with a partition, a strategy OnDelete or a paused Deployment leaves instances on the old "
    "revision: members of two versions, and an update that says it is done.",
    sources=(Source("004", "5.5.10", "new version has to be rolled out to all thousands of minions"),),
    remediation="Remove rollingUpdate.partition, paused and OnDelete once the update is to go on.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: (
        workload.kind in ("Deployment", "StatefulSet", "DaemonSet") and _known(facts, workload)
    ),
    not_applicable_reason="no workload of the architecture and no quorum is rolled out",
    since="0.2.0",
)
def rollout_reaches_all(_facts: Facts, workload: Workload) -> Iterator[Problem]:
    """What holds a rollout back for ever."""
    if workload.kind == "Deployment":
        if workload.spec.at("paused").flag():
            yield Problem("its rollouts are paused", "paused: false")
    elif workload.strategy.at("type").text() == "OnDelete":
        yield Problem("strategy OnDelete: old pods stay until somebody deletes them", "RollingUpdate")
    elif partition := workload.strategy.at("rollingUpdate", "partition").number(0):
        yield Problem(f"partition {partition} keeps instances below that number as they are", "no partition")


def _pods(quantity: int | str | None, replicas: int, *, up: bool) -> int:
    written = _DEFAULT if quantity is None else quantity
    if isinstance(written, int):
        return written
    digits = written.removesuffix("%")
    if not written.endswith("%") or not digits.isdecimal():
        raise Malformed(f"'{written}' is neither a number nor a percentage")
    exact = replicas * int(digits) / 100
    return math.ceil(exact) if up else math.floor(exact)
