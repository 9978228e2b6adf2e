"""Checks the nodes of a live stack's cluster before `up` and `preview`, and shows why Jobs failed after an `up`."""

from __future__ import annotations

from blueprint.plan.planner import Plan, plan
from commands import live_cluster
from commands.live_cluster import LiveCluster
from commands.live_nodes import Change, Difference, differences, notes, patch
from components.openstack.config.wiring import ENVIRONMENT
from components.openstack.data import MODE, directories
from files.quoting import printable
from proof.api import MERGE, ApiError, Unreachable
from proof.objects import Object, listed, name, number, text
from toolchain.progress import UserError

LINES = 20
"""Number of lines shown from the end of a failed pod's log."""


def show_directories(cluster: LiveCluster, planned: Plan) -> None:
    """Prints commands for the directories of local volumes, before a first `up`.

    Quorate does not create them on nodes.
    """
    if live_cluster.namespace(cluster, ENVIRONMENT) is not None:
        return
    nodes: dict[str, list[str]] = {}
    for node in planned.nodes:
        for each in directories(planned, node):
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
    planned = plan(cluster.settings)
    nodes = planned.nodes
    show_directories(cluster, planned)
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
    labels = cluster.settings.cluster is not None and cluster.settings.cluster.label_nodes
    return [each for each in found if each.is_foreign or not (labels and each.change)]


def require_nodes(cluster: LiveCluster) -> list[Change]:
    """Returns the labels and taints that `up` sets on nodes.

    Raises UserError if the nodes differ from the plan otherwise.
    """
    found = node_differences(cluster)
    if blocking(cluster, found):
        advice = "Correct them as shown"
        if any(each.change for each in found) and cluster.settings.cluster and not cluster.settings.cluster.label_nodes:
            advice += " (with quorate:cluster.labelNodes: true, `up` sets labels and taints itself)"
        raise UserError(f"{advice}, then run `up` again. Nothing was changed.")
    return [each.change for each in found if each.change]


def label_nodes(cluster: LiveCluster, changes: list[Change]) -> None:
    """Sets labels and taints of nodes as in `changes`. Raises UserError if the API server rejects a change."""
    items: dict[str, Object] = {name(each): each for each in cluster.nodes}
    for change in changes:
        try:
            cluster.api.ask("PATCH", f"/api/v1/nodes/{change.node}", patch(change, items[change.node]), content=MERGE)
        except (ApiError, Unreachable) as error:
            raise UserError(f"Labels of node {change.node} could not be set: {error}") from None
        print(f"Set labels and taints of node {change.node} as planned.", flush=True)


def show_failed_jobs(cluster: LiveCluster) -> None:
    """For each failed Job of Quorate in the cluster, prints the last lines of its newest pod's log."""
    labels = {"labelSelector": "app.kubernetes.io/managed-by=quorate"}
    try:
        jobs: list[Object] = cluster.api.ask("GET", "/apis/batch/v1/jobs", query=labels)["items"]
        for job in jobs:
            if number(job, "status", "failed") and not number(job, "status", "succeeded"):
                print(failed_job(cluster, job), flush=True)
    except (ApiError, Unreachable) as error:
        print(f"The cluster's Jobs could not be read: {error}", flush=True)


def failed_job(cluster: LiveCluster, job: Object) -> str:
    """Returns a text for a failed Job: the exit code and the last log lines of its newest pod."""
    namespace = text(job, "metadata", "namespace")
    query = {"labelSelector": f"batch.kubernetes.io/job-name={name(job)}"}
    pods: list[Object] = cluster.api.ask("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)["items"]
    title = f"\nJob {namespace}/{name(job)} has failed"
    if not pods:
        return f"{title}; its pods are gone, and their logs with them."
    newest = max(pods, key=lambda pod: text(pod, "metadata", "creationTimestamp"))
    codes = [number(each, "state", "terminated", "exitCode") for each in listed(newest, "status", "containerStatuses")]
    ended = f" (exit code {codes[0]})" if codes and codes[0] else ""
    path = f"/api/v1/namespaces/{namespace}/pods/{name(newest)}/log"
    reply = cluster.api.call("GET", path, query={"tailLines": str(LINES)})
    if reply.status >= 300:
        return f"{title}{ended}. The log of pod {name(newest)} cannot be read: {text(reply.body, 'message')}"
    lines = "\n".join(f"    {printable(line)}" for line in reply.text.splitlines()[-LINES:])
    return f"{title}{ended}. The last lines of pod {name(newest)}:\n{lines}"
