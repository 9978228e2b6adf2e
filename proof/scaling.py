"""Scaling trials: the planner must reject more replicas than there are eligible nodes, and the scheduler must agree.

The planner must reject such a stack file before anything is deployed, because a replica without an eligible node stays
Pending, and RabbitMQ's operator does not support scaling down
(https://github.com/rabbitmq/cluster-operator/issues/223).
"""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.plan import planner
from blueprint.problems import InvalidStackError
from blueprint.stackfile.settings import Override, Settings
from cluster.api import MERGE
from cluster.cache import PATHS, WORKLOADS
from cluster.objects import name
from proof.cluster import RunningWorkload
from proof.expected import ExpectedRow
from proof.simulation import Progress, SimulatedCluster
from proof.violations import Violation


@dataclass(frozen=True)
class ScalingTrial:
    """The result of requesting more instances of a row (`asked`) than there are eligible nodes."""

    row: str
    asked: int
    eligible: int
    """Number of nodes that may run one instance each; for a quorum, number of their physical hosts."""
    plan: str
    """The planner's error; empty if the planner accepted the number of instances."""
    pending: int
    """Number of pods that the scheduler left Pending."""


def run_scaling_trials(
    simulated: SimulatedCluster, settings: Settings, say: Progress
) -> tuple[list[ScalingTrial], list[Violation]]:
    """Scales every row with a fixed number of instances to one more than fits; a quorum to the next odd number."""
    found: list[ScalingTrial] = []
    findings: list[Violation] = []
    workloads = {workload.row: workload for workload in simulated.workloads()}
    rows = [row for row in simulated.state.rows if row.instances is not None and row.name in workloads]
    for number, expected in enumerate(rows, start=1):
        say(f"scaling {number} of {len(rows)}: {expected.name}")
        one, wrong = run_scaling_trial(simulated, settings, expected, workloads[expected.name])
        found.append(one)
        findings += wrong
    return found, findings


def run_scaling_trial(
    simulated: SimulatedCluster, settings: Settings, expected: ExpectedRow, workload: RunningWorkload
) -> tuple[ScalingTrial, list[Violation]]:
    """Requests more instances of one row than fit, from the planner and from the scheduler.

    Returns result and findings.
    """
    eligible = _eligible(simulated, expected)
    asked = eligible + 1 + (expected.quorum and eligible % 2)
    error = plan_error(settings, expected.service, asked)
    pending = _scale_and_count(simulated, workload, asked)
    findings: list[Violation] = []
    if not error:
        message = f"the plan accepts {asked} instances on {eligible} eligible nodes; expected an error"
        findings.append(Violation("plan-refuses", workload.title, message))
    if pending < asked - eligible:
        message = f"{asked} instances on {eligible} nodes: {pending} pods are Pending, expected {asked - eligible}"
        findings.append(Violation("scheduler-agrees", workload.title, message))
    return ScalingTrial(expected.name, asked, eligible, error, pending), findings


def plan_error(settings: Settings, service: str, replicas: int) -> str:
    """Returns the planner's error for a number of replicas of a service; "" if the planner accepts the number."""
    override = settings.services.get(service, Override()).model_copy(update={"replicas": replicas})
    asked = settings.model_copy(update={"services": {**settings.services, service: override}})
    try:
        planner.plan(asked)
    except InvalidStackError as error:
        return str(error.problems[0])
    return ""


def _eligible(simulated: SimulatedCluster, expected: ExpectedRow) -> int:
    nodes = [node for node in simulated.cluster().nodes.values() if expected.may_use(node)]
    return len({node.server for node in nodes} if expected.quorum else nodes)


def _scale_and_count(simulated: SimulatedCluster, workload: RunningWorkload, replicas: int) -> int:
    """Scales a workload up to `replicas`, counts the pods without a node, and scales the workload down again."""
    rows = [workload.row or ""]
    _scale(simulated, workload, replicas)
    simulated.wait(lambda: _all_answered(simulated, rows, replicas), timeout=90)
    pending = sum(pod.node is None for pod in simulated.pods_of(rows))
    _scale(simulated, workload, workload.wanted)
    simulated.wait(lambda: len(simulated.pods_of(rows)) == workload.wanted and simulated.is_ready(), timeout=120)
    _remove_claims(simulated, workload)
    return pending


def _all_answered(simulated: SimulatedCluster, rows: list[str], replicas: int) -> bool:
    pods = simulated.pods_of(rows)
    return len(pods) >= replicas and all(pod.ready or pod.refusal for pod in pods)


def _scale(simulated: SimulatedCluster, workload: RunningWorkload, replicas: int) -> None:
    plural = next(plural for plural, kind in WORKLOADS.items() if kind == workload.kind)
    path = PATHS[plural].replace(plural, f"namespaces/{workload.namespace}/{plural}/{workload.name}/scale")
    simulated.api.ask("PATCH", path, {"spec": {"replicas": replicas}}, content=MERGE)


def _remove_claims(simulated: SimulatedCluster, workload: RunningWorkload) -> None:
    """Deletes the volume claims of removed replicas, which a StatefulSet keeps and which would occupy volumes."""
    if workload.kind != "StatefulSet":
        return
    extra = f"-{workload.name}-"
    for claim in simulated.cache.all("claims"):
        head, _, ordinal = name(claim).rpartition("-")
        if f"-{head}-".endswith(extra) and ordinal.isdecimal() and int(ordinal) >= workload.wanted:
            namespace = claim["metadata"]["namespace"]
            simulated.api.ask("DELETE", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name(claim)}")
