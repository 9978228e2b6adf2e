"""Cordons a node and evicts pods, as `kubectl drain` does."""

from __future__ import annotations

from cluster.api import MERGE, Api
from cluster.objects import Object, at, has_ended, listed, text

TOO_MANY = 429
"""HTTP status of the API server's response if a disruption budget rejects an eviction."""


def cordon(api: Api, node: str, *, closed: bool, annotations: Object | None = None) -> None:
    """Closes a node to new pods, or opens it, and sets `annotations` in the same change; the value None removes one."""
    change: Object = {"spec": {"unschedulable": closed}}
    if annotations:
        change["metadata"] = {"annotations": annotations}
    api.ask("PATCH", f"/api/v1/nodes/{node}", change, content=MERGE)


def evict(api: Api, namespace: str, pod: str) -> tuple[int, str]:
    """Evicts a pod. Returns the HTTP status and the API server's message, which names a budget that rejects it."""
    metadata = {"name": pod, "namespace": namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    reply = api.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction", body)
    causes = [text(each, "message") for each in listed(reply.body, "details", "causes")]
    return reply.status, "; ".join((str(reply.body.get("message", "")), *causes))


def evictable(api: Api, node: str) -> list[Object]:
    """Returns the pods of a node that a drain evicts: no static ones, none of a DaemonSet, and none that has ended."""
    found = api.ask("GET", "/api/v1/pods", query={"fieldSelector": f"spec.nodeName={node}"})
    return [pod for pod in listed(found, "items") if _moves(pod)]


def _moves(pod: Object) -> bool:
    owners = listed(pod, "metadata", "ownerReferences")
    controller = next((text(each, "kind") for each in owners if at(each, "controller")), "")
    return controller not in ("DaemonSet", "Node") and not has_ended(pod)
