"""A rendered stack in a simulated cluster: nodes are registered, manifests are applied, and pods run on KWOK's nodes.

The trials (faults, rollouts, drains, scaling) run on a `SimulatedCluster`. Each trial restores the cluster for the
next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.api import MERGE, Api
from cluster.cache import WORKLOADS, ObjectCache, object_cache
from cluster.objects import Object, at, number, text
from proof import manifests
from proof import simulated_nodes as machine_files
from proof.cluster import (
    ClusterState,
    RunningNode,
    RunningPod,
    RunningWorkload,
    budget_of,
    from_cache,
    node_of,
    pod_of,
    row_of,
    workload_of,
)
from proof.control_plane import ControlPlane, control_plane
from proof.expected import ExpectedRow, ExpectedState
from proof.simulated_nodes import SimulatedMachine
from proof.termination import terminate_pods
from proof.violations import Violation

RESYNC = "quorate.io/resync"
SETTLE = 600
QUIET = 60.0
"""Seconds without a change after which no further change is expected, even on a busy machine."""


@dataclass(frozen=True)
class Rendered:
    """A rendered stack: its machines, its Kubernetes objects, and the findings from reading them."""

    machines: tuple[SimulatedMachine, ...]
    objects: tuple[Object, ...]
    findings: tuple[Violation, ...] = ()


@dataclass
class SimulatedCluster:
    """A stack in a simulated cluster, whose control plane is real and whose nodes are simulated by KWOK."""

    state: ExpectedState
    rendered: Rendered
    plane: ControlPlane
    cache: ObjectCache
    findings: list[Violation] = field(default_factory=list[Violation])
    """Findings before the trials: rejected nodes and objects, warnings of the API server, nodes that accept no pods."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def api(self) -> Api:
        """Access to the API server of the control plane."""
        return self.plane.api

    @property
    def machines(self) -> dict[str, SimulatedMachine]:
        """The machines of the rendered stack, by name."""
        return {machine.name: machine for machine in self.rendered.machines}

    def cluster(self) -> ClusterState:
        """Returns a snapshot of the cluster from the cache."""
        return from_cache(self.cache)

    def cluster_nodes(self) -> list[RunningNode]:
        """Returns the nodes of the cluster; faster than a snapshot, because pods are not read."""
        return [node_of(item) for item in self.cache.all("nodes")]

    def workloads(self) -> list[RunningWorkload]:
        """Returns the workloads of the cluster; faster than a snapshot, because pods are not read."""
        with self.cache.lock:
            return [workload_of(kind, item) for plural, kind in WORKLOADS.items() for item in self.cache.all(plural)]

    def is_ready(self) -> bool:
        """Whether workloads are complete and their pods ready, jobs have succeeded, and budgets are up to date.

        Pods count besides the workloads: the status of a DaemonSet may lag behind, as after its node has returned.
        """
        if not all(workload.settled for workload in self.workloads()):
            return False
        jobs = self.cache.all("jobs")
        if any(number(job, "status", "succeeded") < number(job, "spec", "completions", default=1) for job in jobs):
            return False
        if not all(budget.up_to_date for budget in map(budget_of, self.cache.all("budgets"))):
            return False
        if not all(self._is_everywhere(expected) for expected in self.state.rows if expected.instances is None):
            return False
        return all(pod.ready or pod.ending for pod in self.cluster().pods)

    def _is_everywhere(self, expected: ExpectedRow) -> bool:
        """Whether a row that runs on every node has a ready pod on each of its nodes."""
        nodes = {node.name for node in self.cluster_nodes() if expected.may_use(node)}
        return nodes <= {pod.node for pod in self.pods_of([expected.name]) if pod.ready}

    def pods_on(self, nodes: Collection[str]) -> list[RunningPod]:
        """Returns the pods on the named nodes."""
        with self.cache.lock:
            return [pod_of(item) for item in self.cache.all("pods") if at(item, "spec", "nodeName") in nodes]

    def pods_of(self, rows: Collection[str]) -> list[RunningPod]:
        """Returns the pods of the named rows, without pods whose deletion has begun."""
        with self.cache.lock:
            found = [item for item in self.cache.all("pods") if row_of(item) in rows]
        return [pod for pod in map(pod_of, found) if not pod.ending]

    def pods_made_by(self, workload: RunningWorkload) -> list[RunningPod]:
        """Returns the pods of a workload, without pods whose deletion has begun."""
        with self.cache.lock:
            pods = [pod_of(item) for item in self.cache.all("pods")]
        own = (workload.kind, workload.name, workload.namespace)
        return [pod for pod in pods if (pod.kind, pod.workload, pod.namespace) == own and not pod.ending]

    def has_pods(self, uids: Collection[str]) -> bool:
        """Whether a pod with one of the UIDs exists."""
        with self.cache.lock:
            return any(at(item, "metadata", "uid") in uids for item in self.cache.all("pods"))

    def open_nodes(self, nodes: Collection[str]) -> bool:
        """Whether all named nodes exist, are ready and accept pods."""
        found = [self.cache.get("nodes", name) for name in nodes]
        return all(item is not None and node_of(item).open for item in found)

    def wait(self, done: Callable[[], bool], timeout: float = SETTLE, quiet: float = QUIET) -> bool:
        """Waits until `done` returns true (see ObjectCache.wait); gives up if all unready pods are unschedulable.

        Returns whether `done` returned true.
        """
        return self.cache.wait(done, timeout, quiet=quiet, give_up=self.is_unschedulable, nudge=self.resync)

    def resync(self) -> None:
        """Annotates scheduled pods that should change but have not for `LONG` seconds, so that KWOK acts on them.

        Such pods are not ready or are being deleted. A kubelet synchronizes all its pods every minute, but KWOK acts
        only on events and misses some under load. The annotation creates a new event.
        """
        touch = {"metadata": {"annotations": {RESYNC: str(time.monotonic_ns())}}}
        for pod in map(pod_of, self.cache.unchanged("pods")):
            if pod.node and (pod.ending or not pod.ready):
                path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
                self.api.call("PATCH", path, touch, content=MERGE)

    def is_unschedulable(self) -> bool:
        """Whether some pods are not ready, and all of these pods are unschedulable."""
        waiting = [pod for pod in self.cluster().pods if not pod.ready]
        return bool(waiting) and all(pod.refusal for pod in waiting)

    def wait_ready(self) -> bool:
        """Waits until the cluster is ready. Returns False if nothing changes any more or the time is up."""
        return self.wait(self.is_ready)


Progress = Callable[[str], None]


@contextmanager
def simulated_cluster(
    rendered: Rendered, state: ExpectedState, binaries: Path, say: Progress, services: str = "172.24.0.0/16"
) -> Generator[SimulatedCluster]:
    """Starts a control plane, registers the nodes of a rendered stack and applies its objects. Yields the cluster.

    `say`: function that receives the progress. `services`: network of the cluster's Services.
    """
    started = time.monotonic()
    with (
        control_plane(binaries, services=services) as plane,
        object_cache(plane.api, plane.check) as cache,
        terminate_pods(plane.api, cache),
    ):
        simulated = SimulatedCluster(state, rendered, plane, cache, list(rendered.findings))
        simulated.seconds["control plane ready"] = time.monotonic() - started
        _register(simulated, say)
        _apply(simulated, say)
        yield simulated


def read(tree: Path) -> Rendered:
    """Returns the machines and Kubernetes objects of a rendered tree."""
    machines, findings = machine_files.read_machines(tree / "machines")
    return Rendered(tuple(machines), tuple(manifests.read_manifests(tree)), tuple(findings))


def _register(simulated: SimulatedCluster, say: Progress) -> None:
    started = time.monotonic()
    machines = simulated.rendered.machines
    say(f"registering {len(machines)} nodes")
    rejected = machine_files.register_all(simulated.api, machines)
    simulated.findings += rejected
    missing = {finding.subject.removeprefix("node ") for finding in rejected}
    names = [machine.name for machine in machines if machine.name not in missing]
    if not simulated.wait(lambda: simulated.open_nodes(names)):
        closed = [name for name in names if not simulated.open_nodes([name])]
        simulated.findings += [Violation("nodes-ready", f"node {name}", "does not accept pods") for name in closed]
    simulated.seconds["nodes ready"] = time.monotonic() - started


def _apply(simulated: SimulatedCluster, say: Progress) -> None:
    objects: Sequence[Object] = simulated.rendered.objects
    say(f"applying {len(objects)} objects under strict validation")
    started = time.monotonic()
    rejected = manifests.apply_all(simulated.api, objects)
    simulated.findings += rejected
    simulated.seconds["applied"] = time.monotonic() - started
    titles = {finding.subject for finding in rejected if finding.check == "manifests-accepted"}
    made = [item for item in objects if item["kind"] in _FOLLOWED and manifests.title(item) not in titles]
    bound: list[float] = []

    def is_complete() -> bool:
        # The cache may not have all objects yet.
        if sum(len(simulated.cache.all(plural)) for plural in _FOLLOWED.values()) < len(made):
            return False
        ready = simulated.is_ready()
        if not bound and (ready or _all_scheduled(simulated)):
            bound.append(time.monotonic() - started)
        return ready

    say("waiting for the scheduler")
    simulated.wait(is_complete)
    simulated.seconds["apply to all scheduled"] = bound[0] if bound else float("nan")
    simulated.seconds["apply to all running"] = time.monotonic() - started


_FOLLOWED = {kind: plural for plural, kind in WORKLOADS.items()} | {"Job": "jobs", "PodDisruptionBudget": "budgets"}


def _all_scheduled(simulated: SimulatedCluster) -> bool:
    """Whether every pod of every workload exists and has a node."""
    if any(
        number(item, "status", "observedGeneration") < 1 for kind in WORKLOADS for item in simulated.cache.all(kind)
    ):
        return False
    wanted = sum(workload.wanted for workload in simulated.workloads())
    bound = sum(1 for item in simulated.cache.all("pods") if text(item, "spec", "nodeName"))
    return bool(wanted) and bound >= wanted
