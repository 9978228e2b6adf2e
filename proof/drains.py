"""Every node is drained through the eviction API, one at a time, as `kubectl drain` does.

Budgets must let the node's own pods go, and must refuse a second member of a quorum while the first has no place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proof.api import STRATEGIC
from proof.cluster import Pod
from proof.simulation import Progress, Stand
from proof.violations import Finding

TOO_MANY = 429
"""What the API server answers where a budget forbids an eviction."""


@dataclass(frozen=True)
class Drain:
    """How the drain of a node went."""

    node: str
    evicted: int
    refused: tuple[str, ...]
    """Quorums whose second member the API refused to evict."""


def drain_each(stand: Stand, say: Progress) -> tuple[list[Drain], list[Finding]]:
    """Every node in turn."""
    drains: list[Drain] = []
    findings: list[Finding] = []
    names = sorted(stand.cluster().nodes)
    for number, node in enumerate(names, start=1):
        say(f"drain {number} of {len(names)}: {node}")
        done, wrong = drain(stand, node)
        drains.append(done)
        findings += wrong
    return drains, findings


def drain(stand: Stand, node: str) -> tuple[Drain, list[Finding]]:
    """One node: cordoned, emptied of all but daemons, and given back."""
    pods = [pod for pod in stand.pods_on([node]) if pod.kind != "DaemonSet"]
    _cordon(stand, node, closed=True)
    findings: list[Finding] = []
    for pod in pods:
        status, message = _evict(stand, pod)
        if status >= 300:
            findings.append(Finding("drain-goes-on", pod.title, f"{pod.name} may not leave {node}: {status} {message}"))
    refused: tuple[str, ...] = ()
    if pods:
        rows = [pod.row for pod in pods if pod.row]
        stand.wait(lambda: _settled(stand, pods, rows), timeout=90)
        refused, wrong = _try_second_members(stand, pods)
        findings += wrong
    _cordon(stand, node, closed=False)
    if pods and not stand.wait(stand.is_whole, timeout=120):
        waiting = [pod for pod in stand.cluster().pods if not pod.ready]
        findings += [
            Finding("mends-itself", pod.title, f"{pod.name} did not come back to {node}: {pod.refusal}")
            for pod in waiting
        ]
    return Drain(node, len(pods), refused), findings


def _try_second_members(stand: Stand, evicted: Sequence[Pod]) -> tuple[tuple[str, ...], list[Finding]]:
    """Asks for a second member of each three-member quorum that has just lost one and found no place for it."""
    refused: list[str] = []
    findings: list[Finding] = []
    for expected in stand.norm.rows:
        if not expected.quorum or expected.instances != 3 or all(pod.row != expected.name for pod in evicted):
            continue
        left = [pod for pod in stand.pods_of([expected.name]) if pod.ready]
        if len(left) != 2:
            continue  # the member has found another node: nobody is missing
        status, message = _evict(stand, left[0])
        if status == TOO_MANY:
            refused.append(expected.name)
        else:
            text = f"a second member, {left[0].name}, was to leave as well and was answered {status} {message}"
            findings.append(Finding("second-eviction-refused", left[0].title, text))
    return tuple(refused), findings


def _evict(stand: Stand, pod: Pod) -> tuple[int, str]:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
    }
    reply = stand.api.call("POST", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
    return reply.status, str(reply.body.get("message", ""))


def _cordon(stand: Stand, node: str, *, closed: bool) -> None:
    change = {"spec": {"unschedulable": closed}}
    stand.api.ask("PATCH", f"/api/v1/nodes/{node}", change, content=STRATEGIC)


def _settled(stand: Stand, evicted: Sequence[Pod], rows: Sequence[str]) -> bool:
    """The evicted pods are gone, and their successors run elsewhere or have been refused."""
    there = list(stand.pods_of(rows))
    gone = {(pod.name, pod.node) for pod in evicted}
    if any((pod.name, pod.node) in gone for pod in there):
        return False
    wanted = sum(each.instances or 0 for each in stand.norm.rows if each.name in rows)
    return len(there) >= wanted and all(pod.ready or pod.refusal for pod in there) and all(_counted(stand, there))


def _counted(stand: Stand, pods: Sequence[Pod]) -> Iterator[bool]:
    """Whether the budgets have counted what is missing: until then they would answer from memory."""
    for budget in stand.cluster().budgets:
        mine = [pod for pod in pods if budget.selects(pod)]
        if mine:
            down = sum(not pod.ready for pod in mine)
            yield down == 0 or budget.allowed == 0 or budget.expected - budget.desired > down
