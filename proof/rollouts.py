"""Every workload is rolled to another image: each rollout must end, with at most one member of a quorum down."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from proof.api import STRATEGIC
from proof.cache import PATHS, WORKLOADS
from proof.cluster import Pod, Workload, pod_of
from proof.objects import Object, listed, name
from proof.simulation import Progress, Stand
from proof.violations import Finding

ENDS_WITHIN = 600
STUCK = 60.0
"""Seconds in which nothing happens: the rollout hangs."""
SUFFIX = "-rolled"


@dataclass(frozen=True)
class Rollout:
    """How a rollout went."""

    workload: str
    row: str | None
    members: int
    most_down: int
    """Instances that were down at the same time, at most."""
    seconds: float
    ended: bool


@dataclass
class Watchman:
    """Counts how many pods of a workload are down, at every event."""

    workload: Workload
    up: set[str] = field(default_factory=set[str])
    most_down: int = 0

    def __call__(self, event: str, item: Object) -> None:
        pod = pod_of(item)
        if (pod.kind, pod.workload, pod.namespace) != (self.workload.kind, self.workload.name, self.workload.namespace):
            return
        if event != "DELETED" and pod.ready and not pod.ending:
            self.up.add(pod.name)
        else:
            self.up.discard(pod.name)
        self.most_down = max(self.most_down, self.workload.wanted - len(self.up))


def roll_each(stand: Stand, say: Progress) -> tuple[list[Rollout], list[Finding]]:
    """Every workload in turn; daemons, which are many and slow, go on meanwhile."""
    rollouts: list[Rollout] = []
    findings: list[Finding] = []
    workloads = sorted(stand.workloads(), key=lambda workload: (workload.kind != "DaemonSet", workload.name))
    daemons = [workload for workload in workloads if workload.kind == "DaemonSet"]
    others = [workload for workload in workloads if workload.kind != "DaemonSet"]
    started = time.monotonic()
    for workload in daemons:
        _change_image(stand, workload, back=False)
    for number, workload in enumerate(others, start=1):
        say(f"rollout {number} of {len(workloads)}: {workload.name}")
        rollout, wrong = roll(stand, workload)
        rollouts.append(rollout)
        findings += wrong
    for number, workload in enumerate(daemons, start=len(others) + 1):
        say(f"rollout {number} of {len(workloads)}: {workload.name}, one on each node")
        ended = stand.wait(lambda each=workload: _is_done(stand, each), timeout=ENDS_WITHIN, quiet=STUCK)
        rollouts.append(Rollout(workload.title, workload.row, workload.wanted, 0, time.monotonic() - started, ended))
        findings += [] if ended else [_stuck(stand, workload)]
    return rollouts, findings


def roll(stand: Stand, workload: Workload) -> tuple[Rollout, list[Finding]]:
    """One rollout. A stuck one is taken back, so that the next trial finds the stand whole."""
    expected = stand.norm.of(workload.row)
    started = time.monotonic()
    watchman = Watchman(workload, {pod.name for pod in _pods(stand, workload) if pod.ready})
    with stand.live.observed(watchman):
        _change_image(stand, workload, back=False)
        ended = stand.wait(lambda: _is_done(stand, workload), timeout=ENDS_WITHIN, quiet=STUCK)
    findings: list[Finding] = []
    if not ended:
        findings.append(_stuck(stand, workload))
        _change_image(stand, workload, back=True)
        stand.await_whole()
    if expected and expected.quorum and watchman.most_down > 1:
        message = f"{watchman.most_down} of {workload.wanted} members were down at the same time"
        findings.append(Finding("rollout-one-at-a-time", workload.title, message))
    seconds = time.monotonic() - started
    return Rollout(workload.title, workload.row, workload.wanted, watchman.most_down, seconds, ended), findings


def _change_image(stand: Stand, workload: Workload, *, back: bool) -> None:
    plural = next(plural for plural, kind in WORKLOADS.items() if kind == workload.kind)
    item = stand.live.get(plural, workload.name, workload.namespace) or {}
    first = listed(item, "spec", "template", "spec", "containers")[0]
    image = str(first["image"]).removesuffix(SUFFIX) + ("" if back else SUFFIX)
    change = {"spec": {"template": {"spec": {"containers": [{"name": name({"metadata": first}), "image": image}]}}}}
    path = PATHS[plural].replace(plural, f"namespaces/{workload.namespace}/{plural}/{workload.name}")
    changed = stand.api.ask("PATCH", path, change, content=STRATEGIC)
    _await_seen(stand, plural, workload, int(changed["metadata"]["generation"]))


def _await_seen(stand: Stand, plural: str, workload: Workload, generation: int) -> None:
    """Until our own view has the change, so that nobody takes the old state for the new."""

    def seen() -> bool:
        item = stand.live.get(plural, workload.name, workload.namespace)
        return item is not None and int(item["metadata"]["generation"]) >= generation

    stand.wait(seen, timeout=30)


def _is_done(stand: Stand, workload: Workload) -> bool:
    return any(each.settled for each in stand.workloads() if (each.kind, each.name) == (workload.kind, workload.name))


def _pods(stand: Stand, workload: Workload) -> list[Pod]:
    return stand.pods_made_by(workload)


def _stuck(stand: Stand, workload: Workload) -> Finding:
    waiting = [pod for pod in _pods(stand, workload) if not pod.ready]
    why = waiting[0].refusal if waiting else None
    return Finding("rollout-ends", workload.title, f"its rollout hangs: {why or 'no pod is waiting for a node'}")
