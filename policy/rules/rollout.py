"""Rollouts that can come to their end."""

from __future__ import annotations

import math
from collections.abc import Iterator

from policy.facts import Facts
from policy.findings import Severity
from policy.kubernetes.node import HOSTNAME
from policy.kubernetes.workload import Workload
from policy.rule import Problem, Source, rule
from policy.tree import Malformed
from policy.wording import counted

_DEFAULT = "25%"
"""Kubernetes' own maxSurge and maxUnavailable."""


def _exclusive_deployment(facts: Facts, workload: Workload) -> bool:
    if workload.kind != "Deployment" or not workload.replicas:
        return False
    if workload.strategy.at("type").text("RollingUpdate") != "RollingUpdate":
        return False
    return facts.keeps_apart(workload, workload, HOSTNAME) or workload.host_ports


@rule(
    id="rollout-can-finish",
    title="A rollout has a node for every pod that it adds",
    severity=Severity.HIGH,
    rationale="With one instance per node, a rollout that starts a new pod before it ends an old one needs a free "
    "node. Where every node has its instance already the new pod stays Pending, and with the default of three "
    "replicas (maxSurge 1, maxUnavailable 0) the rollout never moves.",
    sources=(
        Source("004", "5.5.10", "updates go node by node without stopping services on all nodes at once"),
        Source("004", "5.5.9", "rollout and its abort must leave a working system"),
    ),
    remediation="Set strategy.rollingUpdate to maxSurge: 0 and maxUnavailable: 1, or give it one more node.",
    subjects=lambda facts: facts.workloads,
    applies=_exclusive_deployment,
    otherwise="no Deployment keeps its instances on different nodes and replaces them one after another",
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
            f"{replicas} replicas fill {counted(nodes, 'node')} and the rollout adds {surge} (maxSurge): {then}",
            f"maxSurge 0, or at least {counted(replicas + 1, 'node')}",
        )


def _pods(quantity: int | str | None, replicas: int, *, up: bool) -> int:
    written = _DEFAULT if quantity is None else quantity
    if isinstance(written, int):
        return written
    digits = written.removesuffix("%")
    if not written.endswith("%") or not digits.isdecimal():
        raise Malformed(f"'{written}' is neither a number nor a percentage")
    exact = replicas * int(digits) / 100
    return math.ceil(exact) if up else math.floor(exact)
