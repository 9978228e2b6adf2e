"""Drain trials: every node is drained through the eviction API, one at a time, as `kubectl drain` does.

Disruption budgets must allow the eviction of the node's pods. They must reject the eviction of a second quorum member
while the first evicted member is Pending.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cluster.eviction import TOO_MANY, cordon, evict
from proof.cluster import RunningPod
from proof.simulation import Progress, SimulatedCluster
from proof.violations import Violation

PATIENCE = 60
"""Seconds during which a rejected eviction is retried, as `kubectl drain` does. A budget's status lags behind its pods,
and on a slow machine a node may miss a heartbeat, which makes its pods unready for a while."""


@dataclass(frozen=True)
class Drain:
    """The result of draining a node. `evicted`: number of evicted pods."""

    node: str
    evicted: int
    refused: tuple[str, ...]
    """Rows of the quorums for which the API server rejected the eviction of a second member."""


def drain_each(simulated: SimulatedCluster, say: Progress) -> tuple[list[Drain], list[Violation]]:
    """Drains every node of the cluster, one after the other. Returns the results and the findings."""
    drains: list[Drain] = []
    findings: list[Violation] = []
    names = sorted(simulated.cluster().nodes)
    for number, node in enumerate(names, start=1):
        say(f"drain {number} of {len(names)}: {node}")
        done, wrong = drain(simulated, node)
        drains.append(done)
        findings += wrong
    return drains, findings


def drain(simulated: SimulatedCluster, node: str) -> tuple[Drain, list[Violation]]:
    """Cordons a node, evicts all its pods except those of DaemonSets, and uncordons the node."""
    pods = [pod for pod in simulated.pods_on([node]) if pod.kind != "DaemonSet"]
    cordon(simulated.api, node, closed=True)
    findings: list[Violation] = []
    for pod in pods:
        status, message = _evict_patiently(simulated, pod)
        if status >= 300:
            findings.append(
                Violation("drain-goes-on", pod.title, f"{pod.name} cannot be evicted from {node}: {status} {message}")
            )
    refused: tuple[str, ...] = ()
    if pods:
        rows = [pod.row for pod in pods if pod.row]
        simulated.wait(lambda: _settled(simulated, pods, rows), timeout=90)
        refused, wrong = _try_second_members(simulated, pods)
        findings += wrong
    cordon(simulated.api, node, closed=False)
    if pods and not simulated.wait(simulated.is_ready, timeout=120):
        waiting = [pod for pod in simulated.cluster().pods if not pod.ready]
        findings += [
            Violation(
                "mends-itself", pod.title, f"{pod.name} did not recover after {node} was uncordoned: {pod.refusal}"
            )
            for pod in waiting
        ]
    return Drain(node, len(pods), refused), findings


def _try_second_members(
    simulated: SimulatedCluster, evicted: Sequence[RunningPod]
) -> tuple[tuple[str, ...], list[Violation]]:
    """Tries to evict a second member of each three-member quorum whose evicted member has not started on another node.

    Returns the rows for which the API server rejected the eviction, and findings for the others.
    """
    refused: list[str] = []
    findings: list[Violation] = []
    for expected in simulated.state.rows:
        if not expected.quorum or expected.instances != 3 or all(pod.row != expected.name for pod in evicted):
            continue
        left = [pod for pod in simulated.pods_of([expected.name]) if pod.ready]
        if len(left) != 2:
            continue  # the evicted member runs on another node
        status, message = evict(simulated.api, left[0].namespace, left[0].name)
        if status == TOO_MANY:
            refused.append(expected.name)
        else:
            text = f"the eviction of a second member, {left[0].name}, returned {status} {message}; expected {TOO_MANY}"
            findings.append(Violation("second-eviction-refused", left[0].title, text))
    return tuple(refused), findings


def _evict_patiently(simulated: SimulatedCluster, pod: RunningPod) -> tuple[int, str]:
    deadline = time.monotonic() + PATIENCE
    status, message = evict(simulated.api, pod.namespace, pod.name)
    while status == TOO_MANY and time.monotonic() < deadline:
        time.sleep(0.5)
        simulated.wait(simulated.is_ready, timeout=PATIENCE)
        status, message = evict(simulated.api, pod.namespace, pod.name)
    return status, message


def _settled(simulated: SimulatedCluster, evicted: Sequence[RunningPod], rows: Sequence[str]) -> bool:
    """Whether the evicted pods are gone, and their replacements are ready or reported as unschedulable."""
    there = list(simulated.pods_of(rows))
    gone = {(pod.name, pod.node) for pod in evicted}
    if any((pod.name, pod.node) in gone for pod in there):
        return False
    wanted = sum(each.instances or 0 for each in simulated.state.rows if each.name in rows)
    return len(there) >= wanted and all(pod.ready or pod.refusal for pod in there) and all(_counted(simulated, there))


def _counted(simulated: SimulatedCluster, pods: Sequence[RunningPod]) -> Iterator[bool]:
    """Yields for each disruption budget of `pods` whether its status counts the pods that are down.

    The status lags behind the pods.
    """
    for budget in simulated.cluster().budgets:
        mine = [pod for pod in pods if budget.selects(pod)]
        if mine:
            down = sum(not pod.ready for pod in mine)
            yield down == 0 or budget.allowed == 0 or budget.expected - budget.desired > down
