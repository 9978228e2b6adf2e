"""A rendered stack standing in a simulated cluster: its nodes registered, its manifests applied, its pods running.

The trials (faults, rollouts, drains, scaling) work on a `Stand`, and leave it whole for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from contract import ROW
from proof import manifests
from proof import simulated_nodes as machine_files
from proof.api import MERGE, Api
from proof.cache import WORKLOADS, Live, following
from proof.cluster import Budget, Cluster, Node, Pod, Workload, budget_of, from_live, node_of, pod_of, workload_of
from proof.control_plane import ControlPlane, control_plane
from proof.expected import Expected, Norm
from proof.objects import Object, at, number, text
from proof.simulated_nodes import Machine
from proof.termination import endings
from proof.violations import Finding

RESYNC = "quorate.io/resync"
SETTLE = 600
QUIET = 60.0
"""Seconds without any change after which nothing more is expected to happen, even on a busy machine."""


@dataclass(frozen=True)
class Rendered:
    """A stack as it was rendered: what its machines and its cluster are given."""

    machines: tuple[Machine, ...]
    objects: tuple[Object, ...]
    findings: tuple[Finding, ...] = ()


@dataclass
class Stand:
    """A stack in a cluster."""

    norm: Norm
    rendered: Rendered
    plane: ControlPlane
    live: Live
    findings: list[Finding] = field(default_factory=list[Finding])
    """Of standing up: what was refused, what was warned of."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def api(self) -> Api:
        return self.plane.api

    @property
    def machines(self) -> dict[str, Machine]:
        return {machine.name: machine for machine in self.rendered.machines}

    def cluster(self) -> Cluster:
        """This moment of the cluster."""
        return from_live(self.live)

    def cluster_nodes(self) -> list[Node]:
        """The nodes alone."""
        return [node_of(item) for item in self.live.all("nodes")]

    def workloads(self) -> list[Workload]:
        """The workloads alone, which is quick to ask."""
        with self.live.lock:
            return [workload_of(kind, item) for plural, kind in WORKLOADS.items() for item in self.live.all(plural)]

    def is_whole(self) -> bool:
        """Every workload has what it wants, every job is done, and every budget knows it."""
        if not all(workload.settled for workload in self.workloads()):
            return False
        jobs = self.live.all("jobs")
        if any(number(job, "status", "succeeded") < number(job, "spec", "completions", default=1) for job in jobs):
            return False
        if not all(_is_counted(budget) for budget in map(budget_of, self.live.all("budgets"))):
            return False
        return all(self._is_everywhere(expected) for expected in self.norm.rows if expected.instances is None)

    def _is_everywhere(self, expected: Expected) -> bool:
        """A DaemonSet's own count may not know yet of a node that has just come back; its pods tell."""
        nodes = {node.name for node in self.cluster_nodes() if expected.may_use(node)}
        return nodes <= {pod.node for pod in self.pods_of([expected.name]) if pod.ready}

    def pods_on(self, nodes: Collection[str]) -> list[Pod]:
        """The pods of some nodes."""
        with self.live.lock:
            return [pod_of(item) for item in self.live.all("pods") if at(item, "spec", "nodeName") in nodes]

    def pods_of(self, rows: Collection[str]) -> list[Pod]:
        """The pods of some rows, the ending ones left out."""
        with self.live.lock:
            found = [item for item in self.live.all("pods") if at(item, "metadata", "annotations", ROW) in rows]
        return [pod for pod in map(pod_of, found) if not pod.ending]

    def pods_made_by(self, workload: Workload) -> list[Pod]:
        """Returns the pods of a workload, terminating ones left out."""
        with self.live.lock:
            pods = [pod_of(item) for item in self.live.all("pods")]
        own = (workload.kind, workload.name, workload.namespace)
        return [pod for pod in pods if (pod.kind, pod.workload, pod.namespace) == own and not pod.ending]

    def has_pods(self, uids: Collection[str]) -> bool:
        """Whether any of these very pods is still there."""
        with self.live.lock:
            return any(at(item, "metadata", "uid") in uids for item in self.live.all("pods"))

    def open_nodes(self, nodes: Collection[str]) -> bool:
        """Whether these nodes are there, ready and take pods."""
        found = [self.live.get("nodes", name) for name in nodes]
        return all(item is not None and node_of(item).open for item in found)

    def wait(self, done: Callable[[], bool], timeout: float = SETTLE, quiet: float = QUIET) -> bool:
        """Waits; see Live.wait."""
        return self.live.wait(done, timeout, quiet=quiet, hopeless=self.is_hopeless, nudge=self.resync)

    def resync(self) -> None:
        """Touches pods that have a node, and for a while have neither started nor ended.

        A kubelet looks again at all of its pods every minute; KWOK goes by events alone, and under load misses some.
        """
        touch = {"metadata": {"annotations": {RESYNC: str(time.monotonic_ns())}}}
        for pod in map(pod_of, self.live.unheard("pods")):
            if pod.node and (pod.ending or not pod.ready):
                path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
                self.api.call("PATCH", path, touch, content=MERGE)

    def is_hopeless(self) -> bool:
        """Whoever does not run has been refused by the scheduler, and no pod is still to be made."""
        waiting = [pod for pod in self.cluster().pods if not pod.ready]
        return bool(waiting) and all(pod.refusal for pod in waiting)

    def await_whole(self) -> bool:
        """Waits until nothing is missing, or nothing happens any more."""
        return self.wait(self.is_whole)


def _is_counted(budget: Budget) -> bool:
    """Whether a budget lets go what it may when nobody is missing: until then it still remembers an eviction."""
    return budget.healthy >= budget.expected and budget.allowed >= budget.expected - budget.desired


Progress = Callable[[str], None]


@contextmanager
def standing(
    rendered: Rendered, norm: Norm, binaries: Path, say: Progress, services: str = "172.24.0.0/16"
) -> Generator[Stand]:
    """Stands a rendered stack up in a control plane of its own."""
    started = time.monotonic()
    with (
        control_plane(binaries, services=services) as plane,
        following(plane.api, plane.check) as live,
        endings(plane.api, live),
    ):
        stand = Stand(norm, rendered, plane, live, list(rendered.findings))
        stand.seconds["control plane ready"] = time.monotonic() - started
        _register(stand, say)
        _apply(stand, say)
        yield stand


def read(tree: Path) -> Rendered:
    """A stack from the tree that the engine rendered."""
    machines, findings = machine_files.read_machines(tree / "machines")
    return Rendered(tuple(machines), tuple(manifests.read_manifests(tree)), tuple(findings))


def _register(stand: Stand, say: Progress) -> None:
    started = time.monotonic()
    machines = stand.rendered.machines
    say(f"registering {len(machines)} nodes, as their kubelets would")
    refused = machine_files.register_all(stand.api, machines)
    stand.findings += refused
    missing = {finding.subject.removeprefix("node ") for finding in refused}
    names = [machine.name for machine in machines if machine.name not in missing]
    if not stand.wait(lambda: stand.open_nodes(names)):
        closed = [name for name in names if not stand.open_nodes([name])]
        stand.findings += [Finding("nodes-ready", f"node {name}", "takes no pods") for name in closed]
    stand.seconds["nodes ready"] = time.monotonic() - started


def _apply(stand: Stand, say: Progress) -> None:
    objects: Sequence[Object] = stand.rendered.objects
    say(f"applying {len(objects)} objects under strict validation")
    started = time.monotonic()
    refused = manifests.apply_all(stand.api, objects)
    stand.findings += refused
    stand.seconds["applied"] = time.monotonic() - started
    titles = {finding.subject for finding in refused if finding.check == "manifests-accepted"}
    made = [item for item in objects if item["kind"] in _FOLLOWED and manifests.title(item) not in titles]
    bound: list[float] = []

    def all_there() -> bool:
        # Our view of the cluster follows behind: what it has not heard of yet is not whole.
        if sum(len(stand.live.all(plural)) for plural in _FOLLOWED.values()) < len(made):
            return False
        whole = stand.is_whole()
        if not bound and (whole or _all_scheduled(stand)):
            bound.append(time.monotonic() - started)
        return whole

    say("waiting for the scheduler")
    stand.wait(all_there)
    stand.seconds["apply to all scheduled"] = bound[0] if bound else float("nan")
    stand.seconds["apply to all running"] = time.monotonic() - started


_FOLLOWED = {kind: plural for plural, kind in WORKLOADS.items()} | {"Job": "jobs", "PodDisruptionBudget": "budgets"}


def _all_scheduled(stand: Stand) -> bool:
    """Every pod that its workload wants has a node. Asked only while it is not so yet."""
    if any(number(item, "status", "observedGeneration") < 1 for kind in WORKLOADS for item in stand.live.all(kind)):
        return False
    wanted = sum(workload.wanted for workload in stand.workloads())
    bound = sum(1 for item in stand.live.all("pods") if text(item, "spec", "nodeName"))
    return bool(wanted) and bound >= wanted
