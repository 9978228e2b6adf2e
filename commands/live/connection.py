"""The running cluster of a stack with the target `live`.

A stack on existing machines names a context of the kubeconfig, which is found as kubectl finds it. The current context
is never used, so that no command changes a cluster that the user selected for something else. A stack whose machines
Quorate sets up has a kubeconfig of its own below build/<stack>, which `up` writes.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.settings import Settings
from cluster.api import Api, ApiError, Unreachable
from cluster.kubeconfig import Access, kubeconfigs, read_kubeconfig
from cluster.objects import Object, at, name
from commands.stack import ValidStack
from console.errors import UserError
from contract import ADMINISTRATOR, API_PORT, API_SERVER, MASTER_POOL
from operations.live_cluster import LiveCluster

CONNECT = 3.0
"""Seconds until an API server counts as down. Project figure."""
NAMESPACE = "kubernetes:core/v1:Namespace"


def own_kubeconfig(root: Path, name: str) -> Path:
    """Returns the path of the kubeconfig of a stack whose machines Quorate sets up."""
    return root / "build" / name / "kubeconfig"


def own_access(root: Path, stack: ValidStack) -> Access:
    """Returns the access to the cluster of machines that Quorate sets up, by a master that accepts connections.

    The kubeconfig names the first master. Raises UserError if the kubeconfig cannot be read.
    """
    access = read_kubeconfig(own_kubeconfig(root, stack.name), context=ADMINISTRATOR)
    other = _other_master(stack.settings)
    return replace(access, host=other.address) if other else access


def api_server(stack: ValidStack) -> dict[str, str]:
    """Returns the environment variables by which the program uses another API server if the first master's is down."""
    other = _other_master(stack.settings)
    return {API_SERVER: other.name} if other else {}


def _other_master(settings: Settings) -> Machine | None:
    """Returns the first master that accepts connections. Prints its name.

    None if that is the first master of the stack, or if none does, as before the first `up`.
    """
    first, *others = (machine for machine in machines(settings) if MASTER_POOL in machine.roles)
    if _accepts(first.address):
        return None
    for master in others:
        if _accepts(master.address):
            print(
                f"{first.name} does not answer on port {API_PORT}; using the API server of {master.name}.", flush=True
            )
            return master
    return None


def _accepts(address: str) -> bool:
    try:
        socket.create_connection((address, API_PORT), timeout=CONNECT).close()
    except OSError:
        return False
    return True


def connect(root: Path, stack: ValidStack) -> LiveCluster:
    """Connects to the cluster of a live stack. Raises UserError without a kubeconfig or an answer."""
    if stack.settings.cluster:
        context = stack.settings.cluster.context
        api = Api(read_kubeconfig(*kubeconfigs(os.environ), context=context))
    else:
        file = own_kubeconfig(root, stack.name)
        if not file.is_file():
            raise UserError(f"{file.relative_to(root)} does not exist; `quorate up --stack {stack.name}` writes it.")
        context = ADMINISTRATOR
        api = Api(own_access(root, stack))
    try:
        nodes, _ = api.items("/api/v1/nodes")
    except (ApiError, Unreachable) as error:
        message = f"The cluster of context {context} does not answer: {error}"
        if not stack.settings.cluster:
            asks = f"quorate restore etcd --stack {stack.name} --plan"
            message += f"\n`{asks}` asks its masters by SSH what etcd has there, and changes nothing."
        raise UserError(message) from None
    return LiveCluster(api, stack.plan, context, tuple(nodes))


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
