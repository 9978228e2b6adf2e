"""Checks the nodes of a live stack's cluster before `up` and `preview`, and shows why Jobs failed after an `up`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cluster.api import MERGE, ApiError, Unreachable
from cluster.objects import Object, holds, listed, mapping, name, number, text
from commands.live import live_cluster
from commands.live.live_cluster import LiveCluster
from commands.live.live_nodes import Difference, NodeChange, differences, notes, patch
from commands.run import resources
from commands.run.resources import ResourceKind
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from openstack.data import MODE, directories
from policy.engine.events import EngineStep
from text.quoting import printable

_WORKLOADS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}
"""Kinds of workloads that wait for their pods, with their plurals in the API."""
LINES = 20
"""Number of lines shown from the end of a failed pod's log."""


def show_directories(cluster: LiveCluster) -> None:
    """Prints commands for the directories of local volumes, before a first `up`.

    Quorate does not create them on nodes.
    """
    if live_cluster.namespace(cluster, ENVIRONMENT) is not None:
        return
    nodes: dict[str, list[str]] = {}
    for node in cluster.plan.nodes:
        for each in directories(cluster.plan, node):
            line = f"install -d -m {MODE} -o {each.uid} -g {each.uid} {each.path}"
            nodes.setdefault(line, []).append(node.name)
    if nodes:
        print("Local volumes need these directories, which `up` does not make; make them once on the nodes named:")
        for line, names in nodes.items():
            print(f"  {line}   # {', '.join(names)}")


def node_differences(cluster: LiveCluster) -> list[Difference]:
    """Prints how the cluster's nodes differ from the plan, with kubectl lines to correct them.

    Returns the differences.
    """
    nodes = cluster.plan.nodes
    show_directories(cluster)
    for note in notes(nodes, cluster.nodes):
        print(note, flush=True)
    found = differences(nodes, cluster.nodes)
    if not found:
        print(f"All {len(nodes)} nodes of context {cluster.context} are as planned.", flush=True)
        return []
    print(f"Nodes of context {cluster.context} differ from the plan:")
    for each in found:
        print(f"  {each.message}")
        for command in each.change.commands(cluster.context) if each.change else ():
            print(f"    {command}")
    if not blocking(cluster, found):
        print("`up` sets these labels and taints itself.")
    print(end="", flush=True)
    return found


def blocking(cluster: LiveCluster, found: list[Difference]) -> list[Difference]:
    """Returns those of the differences between nodes and plan that `up` does not correct itself."""
    existing = cluster.plan.settings.cluster
    labels = existing is not None and existing.label_nodes
    return [each for each in found if each.is_foreign or not (labels and each.change)]


def require_nodes(cluster: LiveCluster) -> list[NodeChange]:
    """Returns the labels and taints that `up` sets on nodes.

    Raises UserError if the nodes differ from the plan otherwise.
    """
    found = node_differences(cluster)
    if blocking(cluster, found):
        advice = "Correct them as shown"
        existing = cluster.plan.settings.cluster
        if existing and not existing.label_nodes and any(each.change for each in found):
            advice += " (with quorate:cluster.labelNodes: true, `up` sets labels and taints itself)"
        raise UserError(f"{advice}, then run `up` again. Nothing was changed.")
    return [each.change for each in found if each.change]


def label_nodes(cluster: LiveCluster, changes: list[NodeChange]) -> None:
    """Sets labels and taints of nodes as in `changes`. Raises UserError if the API server rejects a change."""
    items: dict[str, Object] = {name(each): each for each in cluster.nodes}
    for change in changes:
        try:
            cluster.api.ask("PATCH", f"/api/v1/nodes/{change.node}", patch(change, items[change.node]), content=MERGE)
        except (ApiError, Unreachable) as error:
            raise UserError(f"Labels of node {change.node} could not be set: {error}") from None
        print(f"Set labels and taints of node {change.node} as planned.", flush=True)


def show_failing(cluster: LiveCluster, steps: Iterable[EngineStep]) -> None:
    """Prints the last lines of each failed Job of Quorate, and of a pod of each workload among the failed `steps`."""
    try:
        show_failed_jobs(cluster)
        for step in steps:
            kind = resources.kind(step)
            if kind.name in _WORKLOADS:
                print(failing_workload(cluster, kind, resources.name(step)), flush=True)
    except (ApiError, Unreachable) as error:
        print(f"The cluster's failing objects could not be read: {error}", flush=True)


def show_failed_jobs(cluster: LiveCluster) -> None:
    """For each failed Job of Quorate in the cluster, prints the last lines of its newest pod's log."""
    labels = {"labelSelector": "app.kubernetes.io/managed-by=quorate"}
    jobs: list[Object] = cluster.api.ask("GET", "/apis/batch/v1/jobs", query=labels)["items"]
    for job in jobs:
        if number(job, "status", "failed") and not number(job, "status", "succeeded"):
            print(failed_job(cluster, job), flush=True)


def failed_job(cluster: LiveCluster, job: Object) -> str:
    """Returns a text for a failed Job: the exit code and the last log lines of its newest pod."""
    namespace = text(job, "metadata", "namespace")
    pods = _pods(cluster, namespace, {"batch.kubernetes.io/job-name": name(job)})
    title = f"Job {namespace}/{name(job)} has failed"
    if not pods:
        return f"{title}; its pods are gone, and their logs with them."
    newest = _newest(pods)
    codes = [number(each, "state", "terminated", "exitCode") for each in listed(newest, "status", "containerStatuses")]
    ended = f" (exit code {codes[0]})" if codes and codes[0] else ""
    return f"{title}{ended}. {_last_lines(cluster, namespace, newest)}"


def failing_workload(cluster: LiveCluster, kind: ResourceKind, called: str) -> str:
    """Returns a text for a workload that is not ready: the reason and the last log lines of its newest unready pod."""
    title = f"{kind.name} {kind.namespace}/{called} is not ready"
    path = f"/apis/apps/v1/namespaces/{kind.namespace}/{_WORKLOADS[kind.name]}/{called}"
    labels = mapping(cluster.api.ask("GET", path), "spec", "selector", "matchLabels")
    pods = [pod for pod in _pods(cluster, kind.namespace, labels) if not holds(pod, "Ready")]
    if not pods:
        return f"{title}; it has no pod that is not ready."
    newest = _newest(pods)
    statuses = listed(newest, "status", "containerStatuses")
    reasons = [text(each, "state", "waiting", "reason") for each in statuses]
    reason = next((f" ({each})" for each in reasons if each), "")
    return f"{title}{reason}. {_last_lines(cluster, kind.namespace, newest)}"


def _pods(cluster: LiveCluster, namespace: str, labels: Mapping[str, str]) -> list[Object]:
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    return cluster.api.ask("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)["items"]


def _newest(pods: Sequence[Object]) -> Object:
    return max(pods, key=lambda pod: text(pod, "metadata", "creationTimestamp"))


def _last_lines(cluster: LiveCluster, namespace: str, pod: Object) -> str:
    """Returns a text with the last lines of a pod's log, or with the reason why it cannot be read."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name(pod)}/log"
    reply = cluster.api.call("GET", path, query={"tailLines": str(LINES)})
    if reply.status >= 300:
        return f"The log of pod {name(pod)} cannot be read: {text(reply.body, 'message')}"
    lines = "\n".join(f"    {printable(line)}" for line in reply.text.splitlines()[-LINES:])
    return f"The last lines of pod {name(pod)}:\n{lines}"
