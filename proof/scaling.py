"""Scaling trials: the plan rejects more replicas than fit, and the scheduler leaves the surplus Pending.

A replica without an eligible node stays Pending, and RabbitMQ's operator does not support scaling down again
(https://github.com/rabbitmq/cluster-operator/issues/223).
"""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.plan import planner
from blueprint.problems import InvalidStackError
from blueprint.stackfile.settings import Override, Settings
from proof.api import MERGE
from proof.cache import PATHS, WORKLOADS
from proof.cluster import Workload
from proof.expected import Expected
from proof.objects import name
from proof.simulation import Progress, Stand
from proof.violations import Finding


@dataclass(frozen=True)
class Overreach:
    """What became of too many instances."""

    row: str
    asked: int
    eligible: int
    """Nodes (for a quorum: physical hosts) that may carry one instance each."""
    plan: str
    """How the plan refused; empty where it did not."""
    pending: int
    """Pods that the scheduler left without a node."""


def overreach_each(stand: Stand, settings: Settings, say: Progress) -> tuple[list[Overreach], list[Finding]]:
    """Every row that has a count, one more than fits (a quorum: the next odd number)."""
    found: list[Overreach] = []
    findings: list[Finding] = []
    workloads = {workload.row: workload for workload in stand.workloads()}
    rows = [row for row in stand.norm.rows if row.instances is not None and row.name in workloads]
    for number, expected in enumerate(rows, start=1):
        say(f"too many {number} of {len(rows)}: {expected.name}")
        one, wrong = overreach(stand, settings, expected, workloads[expected.name])
        found.append(one)
        findings += wrong
    return found, findings


def overreach(
    stand: Stand, settings: Settings, expected: Expected, workload: Workload
) -> tuple[Overreach, list[Finding]]:
    """One row."""
    eligible = _eligible(stand, expected)
    asked = eligible + 1 + (expected.quorum and eligible % 2)
    refusal = refused_by_plan(settings, expected.row.service, asked)
    pending = _scale_and_count(stand, workload, asked)
    findings: list[Finding] = []
    if not refusal:
        message = f"the plan lets {asked} instances pass, {eligible} nodes may carry one each"
        findings.append(Finding("plan-refuses", workload.title, message))
    if pending < asked - eligible:
        message = f"{asked} instances on {eligible} nodes: {pending} pods are Pending, expected {asked - eligible}"
        findings.append(Finding("scheduler-agrees", workload.title, message))
    return Overreach(expected.name, asked, eligible, refusal, pending), findings


def refused_by_plan(settings: Settings, service: str, replicas: int) -> str:
    """The plan's refusal of so many replicas; empty where it takes them."""
    override = settings.services.get(service, Override()).model_copy(update={"replicas": replicas})
    asked = settings.model_copy(update={"services": {**settings.services, service: override}})
    try:
        planner.plan(asked)
    except InvalidStackError as refused:
        return str(refused.problems[0])
    return ""


def _eligible(stand: Stand, expected: Expected) -> int:
    nodes = [node for node in stand.cluster().nodes.values() if expected.may_use(node)]
    return len({node.server for node in nodes} if expected.quorum else nodes)


def _scale_and_count(stand: Stand, workload: Workload, replicas: int) -> int:
    """Scales up, counts the pods without a node, and scales back."""
    rows = [workload.row or ""]
    _scale(stand, workload, replicas)
    stand.wait(lambda: _all_answered(stand, rows, replicas), timeout=90)
    pending = sum(pod.node is None for pod in stand.pods_of(rows))
    _scale(stand, workload, workload.wanted)
    stand.wait(lambda: len(stand.pods_of(rows)) == workload.wanted and stand.is_whole(), timeout=120)
    _remove_claims(stand, workload)
    return pending


def _all_answered(stand: Stand, rows: list[str], replicas: int) -> bool:
    pods = stand.pods_of(rows)
    return len(pods) >= replicas and all(pod.ready or pod.refusal for pod in pods)


def _scale(stand: Stand, workload: Workload, replicas: int) -> None:
    plural = next(plural for plural, kind in WORKLOADS.items() if kind == workload.kind)
    path = PATHS[plural].replace(plural, f"namespaces/{workload.namespace}/{plural}/{workload.name}/scale")
    stand.api.ask("PATCH", path, {"spec": {"replicas": replicas}}, content=MERGE)


def _remove_claims(stand: Stand, workload: Workload) -> None:
    """A StatefulSet keeps the claims of members that it no longer has; here they would hold volumes."""
    if workload.kind != "StatefulSet":
        return
    extra = f"-{workload.name}-"
    for claim in stand.live.all("claims"):
        head, _, ordinal = name(claim).rpartition("-")
        if f"-{head}-".endswith(extra) and ordinal.isdecimal() and int(ordinal) >= workload.wanted:
            namespace = claim["metadata"]["namespace"]
            stand.api.ask("DELETE", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name(claim)}")
