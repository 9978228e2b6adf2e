"""Nodes, pods, workloads and budgets as the judges see them: plain facts read off a live cluster's objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contract import COMPANION_OF, DEDICATED, POOL, ROW, SERVER
from proof.api import Api
from proof.cache import PATHS, WORKLOADS, Live
from proof.objects import Object, at, listed, mapping, name, number, text, texts, words

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
SYSTEM_NAMESPACES = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator", "kube-node-lease")


@dataclass(frozen=True)
class Node:
    """A node of the cluster."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str, str], ...]
    """Key, value, effect."""
    ready: bool
    addresses: tuple[str, ...]

    @property
    def server(self) -> str | None:
        return self.labels.get(SERVER)

    @property
    def pool(self) -> str | None:
        return self.labels.get(POOL)

    @property
    def is_master(self) -> bool:
        """A Kubernetes master, and with it a member of etcd."""
        return CONTROL_PLANE in self.labels or any(key == CONTROL_PLANE for key, _, _ in self.taints)

    @property
    def open(self) -> bool:
        """Ready, and without a taint that speaks of its condition."""
        return self.ready and not any(key.startswith("node.kubernetes.io/") for key, _, _ in self.taints)

    @property
    def kept_for(self) -> tuple[str, ...]:
        """Pools whose taint keeps others out."""
        return tuple(value for key, value, effect in self.taints if key == DEDICATED and effect == "NoSchedule")


@dataclass(frozen=True)
class Pod:
    """A pod that is to run, or runs."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    row: str | None
    kind: str
    """Of the workload that made it; empty where none did."""
    workload: str
    node: str | None
    ready: bool
    refusal: str | None
    """Why the scheduler found no node for it, in its own words."""
    ending: bool
    uid: str = ""
    companion_of: str | None = None
    """The row that its workload accompanies, by the annotation."""

    @property
    def title(self) -> str:
        return f"{self.kind or 'Pod'} {self.workload or self.name}"


@dataclass(frozen=True)
class Workload:
    """What keeps pods running."""

    kind: str
    name: str
    namespace: str
    row: str | None
    wanted: int
    ready: int
    settled: bool
    """Its controller has seen its newest form, and every pod is of that form and ready."""

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Budget:
    """A disruption budget, and what the cluster makes of it."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
    expected: int
    allowed: int
    desired: int
    healthy: int

    def selects(self, pod: Pod) -> bool:
        """As the API server would select: an empty selector selects all of the namespace."""
        if pod.namespace != self.namespace:
            return False
        if any(pod.labels.get(key) != value for key, value in self.labels.items()):
            return False
        return all(_meets(pod.labels, *expression) for expression in self.expressions)


@dataclass(frozen=True)
class Cluster:
    """One moment of a cluster."""

    nodes: Mapping[str, Node]
    pods: tuple[Pod, ...]
    workloads: tuple[Workload, ...] = ()
    budgets: tuple[Budget, ...] = ()
    _by_row: dict[str, list[Pod]] = field(default_factory=dict[str, list[Pod]], repr=False)

    def of_row(self, row: str) -> list[Pod]:
        """The pods of a row, the ending ones left out."""
        if not self._by_row:
            for pod in self.pods:
                if pod.row is not None and not pod.ending:
                    self._by_row.setdefault(pod.row, []).append(pod)
        return self._by_row.get(row, [])

    def server_of(self, pod: Pod) -> str | None:
        """The physical host that a pod stands on."""
        node = self.nodes.get(pod.node or "")
        return node.server if node else None


def from_live(live: Live) -> Cluster:
    """The cluster as it is at this moment."""
    with live.lock:
        return _cluster({kind: live.all(kind) for kind in PATHS})


def from_api(api: Api) -> Cluster:
    """A cluster that is looked at once."""
    return _cluster({kind: api.items(path)[0] for kind, path in PATHS.items()})


def _cluster(objects: Mapping[str, list[Object]]) -> Cluster:
    nodes = {node.name: node for node in map(node_of, objects["nodes"])}
    pods = tuple(sorted((pod_of(each) for each in objects["pods"] if _lasts(each)), key=lambda pod: pod.name))
    workloads = tuple(workload_of(kind, each) for plural, kind in WORKLOADS.items() for each in objects[plural])
    return Cluster(nodes, pods, workloads, tuple(budget_of(each) for each in objects["budgets"]))


def node_of(item: Object) -> Node:
    """A node from its object."""
    taints, addresses = listed(item, "spec", "taints"), listed(item, "status", "addresses")
    return Node(
        name=name(item),
        labels=texts(item, "metadata", "labels"),
        taints=tuple((taint["key"], text(taint, "value"), taint["effect"]) for taint in taints),
        ready=_condition(item, "Ready").get("status") == "True",
        addresses=tuple(each["address"] for each in addresses if each["type"] == "InternalIP"),
    )


def pod_of(item: Object) -> Pod:
    """A pod from its object."""
    kind, workload = _maker(item)
    node = at(item, "spec", "nodeName")
    scheduled = _condition(item, "PodScheduled")
    refused = scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"
    return Pod(
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        labels=texts(item, "metadata", "labels"),
        row=at(item, "metadata", "annotations", ROW),
        companion_of=at(item, "metadata", "annotations", COMPANION_OF),
        kind=kind,
        workload=workload,
        node=node,
        ready=_condition(item, "Ready").get("status") == "True",
        refusal=str(scheduled.get("message", "")) if refused and not node else None,
        ending="deletionTimestamp" in item["metadata"],
        uid=text(item, "metadata", "uid"),
    )


def workload_of(kind: str, item: Object) -> Workload:
    """A workload from its object."""
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
    return Workload(
        kind=kind,
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        row=at(item, "spec", "template", "metadata", "annotations", ROW),
        wanted=wanted,
        ready=ready,
        settled=seen and updated == ready == there == wanted,
    )


def budget_of(item: Object) -> Budget:
    """A budget from its object."""
    expressions = listed(item, "spec", "selector", "matchExpressions")
    return Budget(
        name=name(item),
        namespace=text(item, "metadata", "namespace"),
        labels=texts(item, "spec", "selector", "matchLabels"),
        expressions=tuple((each["key"], each["operator"], words(each, "values")) for each in expressions),
        expected=number(item, "status", "expectedPods"),
        allowed=number(item, "status", "disruptionsAllowed"),
        desired=number(item, "status", "desiredHealthy"),
        healthy=number(item, "status", "currentHealthy"),
    )


def _lasts(item: Object) -> bool:
    """Whether a pod is to run on: what has done its work takes no place any more."""
    return at(item, "status", "phase") not in ("Succeeded", "Failed")


def _condition(item: Object, kind: str) -> Object:
    found = [each for each in listed(item, "status", "conditions") if each["type"] == kind]
    return found[0] if found else {}


def _maker(item: Object) -> tuple[str, str]:
    """Kind and name of the workload behind a pod; a Deployment's stands behind its ReplicaSet."""
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
