"""Checks the nodes of a live stack's cluster before `up` and `preview`, and shows why Jobs failed after an `up`."""

from __future__ import annotations

from collections.abc import Iterable

from cluster import failures
from cluster.api import MERGE, ApiError, Unreachable
from cluster.objects import Object, name, number
from commands.live import connection
from commands.live.live_nodes import Difference, NodeChange, differences, notes, patch
from commands.run import resources
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from openstack.data import MODE, directories
from operations.live_cluster import LiveCluster
from policy.engine.events import EngineStep


def show_directories(cluster: LiveCluster) -> None:
    """Prints commands for the directories of local volumes, before a first `up`.

    Quorate does not create them on nodes.
    """
    if connection.namespace(cluster, ENVIRONMENT) is not None:
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
            if kind.name in failures.WORKLOADS:
                print(
                    failures.failing_workload(cluster.api, kind.name, kind.namespace, resources.name(step)), flush=True
                )
    except (ApiError, Unreachable) as error:
        print(f"The cluster's failing objects could not be read: {error}", flush=True)


def show_failed_jobs(cluster: LiveCluster) -> None:
    """For each failed Job of Quorate in the cluster, prints the last lines of its newest pod's log."""
    labels = {"labelSelector": "app.kubernetes.io/managed-by=quorate"}
    jobs: list[Object] = cluster.api.ask("GET", "/apis/batch/v1/jobs", query=labels)["items"]
    for job in jobs:
        if number(job, "status", "failed") and not number(job, "status", "succeeded"):
            print(failures.failed_job(cluster.api, job), flush=True)
