"""The running cluster of a stack with the target `live`, found by the context that the stack file names.

The kubeconfig is found as kubectl finds it. The current context is never used, so that no command changes a cluster
that the user selected for something else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from proof.api import Api, ApiError, Unreachable
from proof.kubeconfig import kubeconfigs, read_kubeconfig
from proof.objects import Object, at, name
from toolchain.progress import UserError

LIVE = "live"
NAMESPACE = "kubernetes:core/v1:Namespace"


@dataclass(frozen=True)
class LiveCluster:
    """A running cluster whose API server has answered, with its nodes and the settings of the stack."""

    api: Api
    settings: Settings
    context: str
    nodes: tuple[Object, ...]


def connect(file: Path) -> LiveCluster:
    """Connects to the cluster that a live stack's file names. Raises UserError without a context or an answer."""
    settings = load_file(file)
    if settings.cluster is None:
        raise UserError(f"{file} names no cluster.")
    context = settings.cluster.context
    api = Api(read_kubeconfig(*kubeconfigs(os.environ), context=context))
    try:
        nodes, _ = api.items("/api/v1/nodes")
    except (ApiError, Unreachable) as error:
        raise UserError(f"The cluster of context {context} does not answer: {error}") from None
    return LiveCluster(api, settings, context, tuple(nodes))


def require_same(cluster: LiveCluster, deployment: dict[str, Any], *, missing_is_fine: bool) -> None:
    """Raises UserError if a stack's state (`deployment`) describes the objects of another cluster.

    A context is only a name, which may mean another cluster on another machine. The UIDs of the namespaces in the state
    identify the cluster. `missing_is_fine`: a cluster without these namespaces is accepted, so that a refresh can
    remove deleted objects from the state.
    """
    resources: list[dict[str, Any]] = deployment.get("deployment", {}).get("resources") or []
    for uid, named in (
        (at(each, "outputs", "metadata", "uid"), str(each.get("id"))) for each in resources if each["type"] == NAMESPACE
    ):
        found = namespace(cluster, named)
        if found is None and not missing_is_fine:
            raise UserError(
                f"The state has namespace {named}, but the cluster of context {cluster.context} does not: it is "
                "another cluster, or the namespace was deleted. Nothing was changed.\n"
                "Correct quorate:cluster.context or the kubeconfig; after a deletion, run `quorate refresh` first."
            )
        if found is not None and uid and at(found, "metadata", "uid") != uid:
            raise UserError(
                f"Namespace {named} of context {cluster.context} is not the one in the state (its UID differs): it "
                "is another cluster, or the namespace was made anew. Nothing was changed.\n"
                "Correct quorate:cluster.context or the kubeconfig, or use another stack for this cluster."
            )


def namespace(cluster: LiveCluster, named: str) -> Object | None:
    """Returns the namespace with a name, or None if it does not exist.

    Raises UserError if the cluster does not show it.
    """
    try:
        return cluster.api.ask("GET", f"/api/v1/namespaces/{named}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise UserError(f"The cluster of context {cluster.context} refuses to show {named}: {error}") from None
    except Unreachable as error:
        raise UserError(f"The cluster of context {cluster.context} does not answer: {error}") from None


def kept(cluster: LiveCluster) -> str:
    """Describes what a destroyed stack leaves in its cluster: volumes and claims with the members' data."""
    labels = {"labelSelector": "app.kubernetes.io/managed-by=quorate"}
    try:
        volumes, claims = (
            [name(each) for each in cluster.api.ask("GET", path, query=labels)["items"]]
            for path in ("/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims")
        )
    except (ApiError, Unreachable) as error:
        return f"What is left in the cluster could not be listed: {error}"
    return (
        f"Kept in the cluster, with all data: {len(volumes)} volumes, {len(claims)} claims, and their namespace and "
        "storage class. A later `up` uses them again; docs/live.md has the commands that delete them."
    )
