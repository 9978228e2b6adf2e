"""Rollout trials: change the image of every workload. Each rollout must finish with at most one quorum member down."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from cluster.api import STRATEGIC
from cluster.cache import PATHS, WORKLOADS
from cluster.objects import Object, listed, name
from proof.cluster import RunningPod, RunningWorkload, pod_of
from proof.simulation import Progress, SimulatedCluster
from proof.violations import Violation

ENDS_WITHIN = 600
STUCK = 60.0
"""Seconds without a change after which a rollout counts as stuck."""
SUFFIX = "-rolled"


@dataclass(frozen=True)
class Rollout:
    """The result of the rollout of one workload."""

    workload: str
    row: str | None
    members: int
    most_down: int
    """The largest number of instances that were down at the same time."""
    seconds: float
    ended: bool


@dataclass
class Watchman:
    """Observes a workload's pods during a rollout, and records the largest number that were down at the same time."""

    workload: RunningWorkload
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


def roll_each(simulated: SimulatedCluster, say: Progress) -> tuple[list[Rollout], list[Violation]]:
    """Rolls out a new image of every workload in turn. Returns the results and the findings.

    DaemonSets, which take longest, roll out in parallel with the others.
    """
    rollouts: list[Rollout] = []
    findings: list[Violation] = []
    workloads = sorted(simulated.workloads(), key=lambda workload: (workload.kind != "DaemonSet", workload.name))
    daemons = [workload for workload in workloads if workload.kind == "DaemonSet"]
    others = [workload for workload in workloads if workload.kind != "DaemonSet"]
    started = time.monotonic()
    for workload in daemons:
        _change_image(simulated, workload, back=False)
    for number, workload in enumerate(others, start=1):
        say(f"rollout {number} of {len(workloads)}: {workload.name}")
        rollout, wrong = roll(simulated, workload)
        rollouts.append(rollout)
        findings += wrong
    for number, workload in enumerate(daemons, start=len(others) + 1):
        say(f"rollout {number} of {len(workloads)}: {workload.name}, one on each node")
        ended = simulated.wait(lambda each=workload: _is_done(simulated, each), timeout=ENDS_WITHIN, quiet=STUCK)
        rollouts.append(Rollout(workload.title, workload.row, workload.wanted, 0, time.monotonic() - started, ended))
        findings += [] if ended else [_stuck(simulated, workload)]
    return rollouts, findings


def roll(simulated: SimulatedCluster, workload: RunningWorkload) -> tuple[Rollout, list[Violation]]:
    """Rolls out a new image of one workload.

    A stuck rollout is reverted, so that the next one finds a ready cluster.
    """
    expected = simulated.state.of(workload.row)
    started = time.monotonic()
    watchman = Watchman(workload, {pod.name for pod in _pods(simulated, workload) if pod.ready})
    with simulated.cache.observed(watchman):
        _change_image(simulated, workload, back=False)
        ended = simulated.wait(lambda: _is_done(simulated, workload), timeout=ENDS_WITHIN, quiet=STUCK)
    findings: list[Violation] = []
    if not ended:
        findings.append(_stuck(simulated, workload))
        _change_image(simulated, workload, back=True)
        simulated.wait_ready()
    if expected and expected.quorum and watchman.most_down > 1:
        message = f"{watchman.most_down} of {workload.wanted} members were down at the same time"
        findings.append(Violation("rollout-one-at-a-time", workload.title, message))
    seconds = time.monotonic() - started
    return Rollout(workload.title, workload.row, workload.wanted, watchman.most_down, seconds, ended), findings


def _change_image(simulated: SimulatedCluster, workload: RunningWorkload, *, back: bool) -> None:
    plural = next(plural for plural, kind in WORKLOADS.items() if kind == workload.kind)
    item = simulated.cache.get(plural, workload.name, workload.namespace) or {}
    first = listed(item, "spec", "template", "spec", "containers")[0]
    image = str(first["image"]).removesuffix(SUFFIX) + ("" if back else SUFFIX)
    change = {"spec": {"template": {"spec": {"containers": [{"name": name({"metadata": first}), "image": image}]}}}}
    path = PATHS[plural].replace(plural, f"namespaces/{workload.namespace}/{plural}/{workload.name}")
    changed = simulated.api.ask("PATCH", path, change, content=STRATEGIC)
    _await_seen(simulated, plural, workload, int(changed["metadata"]["generation"]))


def _await_seen(simulated: SimulatedCluster, plural: str, workload: RunningWorkload, generation: int) -> None:
    """Waits until the cache has the workload's new generation, so that an old status does not count as finished."""

    def seen() -> bool:
        item = simulated.cache.get(plural, workload.name, workload.namespace)
        return item is not None and int(item["metadata"]["generation"]) >= generation

    simulated.wait(seen, timeout=30)


def _is_done(simulated: SimulatedCluster, workload: RunningWorkload) -> bool:
    return any(
        each.settled for each in simulated.workloads() if (each.kind, each.name) == (workload.kind, workload.name)
    )


def _pods(simulated: SimulatedCluster, workload: RunningWorkload) -> list[RunningPod]:
    return simulated.pods_made_by(workload)


def _stuck(simulated: SimulatedCluster, workload: RunningWorkload) -> Violation:
    waiting = [pod for pod in _pods(simulated, workload) if not pod.ready]
    why = waiting[0].refusal if waiting else None
    return Violation("rollout-ends", workload.title, f"its rollout is stuck: {why or 'no pod is Pending'}")
