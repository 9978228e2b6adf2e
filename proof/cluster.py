"""A snapshot of a cluster: its nodes, pods, workloads and disruption budgets, read from Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.api import Api
from cluster.cache import PATHS, WORKLOADS, ObjectCache
from cluster.objects import Object, at, has_ended, holds, listed, mapping, name, number, text, texts, words
from contract import COMPANION_OF, DEDICATED, POOL, ROW, SERVER

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
SYSTEM_NAMESPACES = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator", "kube-node-lease")


@dataclass(frozen=True)
class RunningNode:
    """A node of the cluster."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str, str], ...]
    """Key, value and effect of each taint."""
    ready: bool
    addresses: tuple[str, ...]

    @property
    def server(self) -> str | None:
        """The physical host of the node, which its label names; None without the label."""
        return self.labels.get(SERVER)

    @property
    def pool(self) -> str | None:
        """The pool of the node, which its label names; None without the label."""
        return self.labels.get(POOL)

    @property
    def is_master(self) -> bool:
        """Whether the node is a Kubernetes master."""
        return CONTROL_PLANE in self.labels or any(key == CONTROL_PLANE for key, _, _ in self.taints)

    @property
    def open(self) -> bool:
        """Whether the node is ready and has no node-condition taint, such as `node.kubernetes.io/unreachable`."""
        return self.ready and not any(key.startswith("node.kubernetes.io/") for key, _, _ in self.taints)

    @property
    def dedicated_to(self) -> tuple[str, ...]:
        """The values of the node's taints quorate.io/dedicated: the pools and services to which it is dedicated."""
        return tuple(value for key, value, effect in self.taints if key == DEDICATED and effect == "NoSchedule")


@dataclass(frozen=True)
class RunningPod:
    """A pod that has not finished. A pod whose deletion has begun is included (`ending`)."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    row: str | None
    """The row of the reference architecture, or the further RabbitMQ cluster, whose instance the pod is; None for
    neither."""
    kind: str
    """Kind of the workload that created the pod; empty for a pod without a workload."""
    workload: str
    node: str | None
    ready: bool
    refusal: str | None
    """The scheduler's message if the pod is unschedulable, otherwise None."""
    ending: bool
    """Whether the deletion of the pod has begun."""
    uid: str = ""
    priority: str = ""
    """Name of the pod's PriorityClass."""
    scheduler_error: str | None = None
    """The message of an error of the scheduler, such as of a volume that was not bound; it tries the pod again."""
    companion_of: str | None = None
    """The row whose service this pod accompanies; None for a pod of a row itself."""

    @property
    def title(self) -> str:
        return f"{self.kind or 'Pod'} {self.workload or self.name}"


@dataclass(frozen=True)
class RunningWorkload:
    """A Deployment, StatefulSet or DaemonSet, with its numbers of pods."""

    kind: str
    name: str
    namespace: str
    row: str | None
    wanted: int
    ready: int
    settled: bool
    """Whether the controller has observed the newest generation, and all pods are ready and of the newest revision."""

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class RunningBudget:
    """A PodDisruptionBudget with its selector, and the numbers of pods in its status."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
    expected: int
    allowed: int
    desired: int
    healthy: int

    @property
    def up_to_date(self) -> bool:
        """Whether the status counts pods, all of them as healthy, and no eviction as pending.

        A budget of zero pods has no status yet, or one from before its pods were created.
        """
        return 1 <= self.expected <= self.healthy and self.allowed >= self.expected - self.desired

    def selects(self, pod: RunningPod) -> bool:
        """Whether the budget selects a pod. As in the API, an empty selector selects every pod of the namespace."""
        if pod.namespace != self.namespace:
            return False
        if any(pod.labels.get(key) != value for key, value in self.labels.items()):
            return False
        return all(_meets(pod.labels, *expression) for expression in self.expressions)


@dataclass(frozen=True)
class ClusterState:
    """A snapshot of a cluster: nodes by name, pods, workloads and disruption budgets."""

    nodes: Mapping[str, RunningNode]
    pods: tuple[RunningPod, ...]
    workloads: tuple[RunningWorkload, ...] = ()
    budgets: tuple[RunningBudget, ...] = ()
    _by_row: dict[str, list[RunningPod]] = field(default_factory=dict[str, list[RunningPod]], repr=False)

    def of_row(self, row: str) -> list[RunningPod]:
        """Returns the pods of a row of the reference architecture, without pods whose deletion has begun."""
        if not self._by_row:
            for pod in self.pods:
                if pod.row is not None and not pod.ending:
                    self._by_row.setdefault(pod.row, []).append(pod)
        return self._by_row.get(row, [])

    def server_of(self, pod: RunningPod) -> str | None:
        """Returns the physical host of a pod's node; None if the pod has no node or the node no label."""
        node = self.nodes.get(pod.node or "")
        return node.server if node else None


def from_cache(cache: ObjectCache) -> ClusterState:
    """Returns a consistent snapshot of the cluster whose objects a cache contains."""
    with cache.lock:
        return _cluster({kind: cache.all(kind) for kind in PATHS})


def from_api(api: Api) -> ClusterState:
    """Requests a snapshot of the cluster from the API server, with one list request per kind of object."""
    return _cluster({kind: api.items(path)[0] for kind, path in PATHS.items()})


def _cluster(objects: Mapping[str, list[Object]]) -> ClusterState:
    nodes = {node.name: node for node in map(node_of, objects["nodes"])}
    pods = tuple(sorted((pod_of(each) for each in objects["pods"] if not has_ended(each)), key=lambda pod: pod.name))
    workloads = tuple(workload_of(kind, each) for plural, kind in WORKLOADS.items() for each in objects[plural])
    return ClusterState(nodes, pods, workloads, tuple(budget_of(each) for each in objects["budgets"]))


def node_of(item: Object) -> RunningNode:
    """Returns the node that a Kubernetes object describes."""
    taints, addresses = listed(item, "spec", "taints"), listed(item, "status", "addresses")
    return RunningNode(
        name=name(item),
        labels=texts(item, "metadata", "labels"),
        taints=tuple((taint["key"], text(taint, "value"), taint["effect"]) for taint in taints),
        ready=holds(item, "Ready"),
        addresses=tuple(each["address"] for each in addresses if each["type"] == "InternalIP"),
    )


def pod_of(item: Object) -> RunningPod:
    """Returns the pod that a Kubernetes object describes."""
    kind, workload = _maker(item)
    node = at(item, "spec", "nodeName")
    scheduled = _condition(item, "PodScheduled")
    waits = scheduled.get("status") == "False" and not node
    message, is_refused = str(scheduled.get("message", "")), scheduled.get("reason") == "Unschedulable"
    return RunningPod(
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        labels=texts(item, "metadata", "labels"),
        row=row_of(item),
        companion_of=at(item, "metadata", "annotations", COMPANION_OF),
        priority=text(item, "spec", "priorityClassName"),
        kind=kind,
        workload=workload,
        node=node,
        ready=holds(item, "Ready"),
        refusal=message if waits and is_refused else None,
        scheduler_error=message if waits and not is_refused else None,
        ending="deletionTimestamp" in item["metadata"],
        uid=text(item, "metadata", "uid"),
    )


def row_of(pod: Object) -> str | None:
    """Returns the row of the reference architecture or the further RabbitMQ cluster to which a pod belongs, or None."""
    return _row(*_maker(pod), mapping(pod, "metadata", "annotations"))


def workload_of(kind: str, item: Object) -> RunningWorkload:
    """Returns the workload that a Kubernetes object of a kind such as Deployment describes."""
    status = mapping(item, "status")
    if kind == "DaemonSet":
        wanted, there = number(status, "desiredNumberScheduled"), number(status, "currentNumberScheduled")
        updated, ready = number(status, "updatedNumberScheduled"), number(status, "numberReady")
    else:
        wanted, there = number(item, "spec", "replicas", default=1), number(status, "replicas")
        updated, ready = number(status, "updatedReplicas"), number(status, "readyReplicas")
        if kind == "StatefulSet" and status.get("currentRevision") == status.get("updateRevision"):
            updated = there
    seen = number(status, "observedGeneration") >= number(item, "metadata", "generation")
    return RunningWorkload(
        kind=kind,
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        row=_row(kind, name(item), mapping(item, "spec", "template", "metadata", "annotations")),
        wanted=wanted,
        ready=ready,
        settled=seen and updated == ready == there == wanted,
    )


def _row(kind: str, workload: str, annotations: Object) -> str | None:
    """Returns the row of a workload's pods, from its annotations; None if it has no row.

    A StatefulSet that accompanies a row is a further RabbitMQ cluster, whose own name is returned.
    """
    further = kind == "StatefulSet" and COMPANION_OF in annotations
    return workload if further else annotations.get(ROW)


def budget_of(item: Object) -> RunningBudget:
    """Returns the disruption budget that a PodDisruptionBudget object describes."""
    expressions = listed(item, "spec", "selector", "matchExpressions")
    return RunningBudget(
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        labels=texts(item, "spec", "selector", "matchLabels"),
        expressions=tuple((each["key"], each["operator"], words(each, "values")) for each in expressions),
        expected=number(item, "status", "expectedPods"),
        allowed=number(item, "status", "disruptionsAllowed"),
        desired=number(item, "status", "desiredHealthy"),
        healthy=number(item, "status", "currentHealthy"),
    )


def _condition(item: Object, kind: str) -> Object:
    found = [each for each in listed(item, "status", "conditions") if each["type"] == kind]
    return found[0] if found else {}


def _maker(item: Object) -> tuple[str, str]:
    """Returns kind and name of the workload that created a pod; for a pod of a ReplicaSet, those of its Deployment."""
    for owner in listed(item, "metadata", "ownerReferences"):
        if owner.get("controller"):
            kind, owner_name = str(owner["kind"]), str(owner["name"])
            suffix = "-" + text(item, "metadata", "labels", "pod-template-hash")
            if kind == "ReplicaSet" and len(suffix) > 1 and owner_name.endswith(suffix):
                return "Deployment", owner_name.removesuffix(suffix)
            return kind, owner_name
    return "", ""


def _meets(labels: Mapping[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    checks = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return checks.get(operator, False)
