"""Asks a quorum in the cluster whether an action may run: the members that are ready, or stopped."""

from __future__ import annotations

import contract
from blueprint.plan.quorum_limits import majority
from cluster.objects import Object, holds, listed, name, number, text
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from operations.actions import Action
from operations.live_cluster import LiveCluster

_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"


def require_quorum(cluster: LiveCluster, action: Action, quorum: str) -> None:
    """Raises UserError unless as many members of a quorum are ready, or stopped, as the action requires."""
    members = pods(cluster, quorum)
    ready = [name(each) for each in members if is_ready(each)]
    workload = cluster.api.ask("GET", f"/apis/apps/v1/namespaces/{ENVIRONMENT}/statefulsets/{quorum}")
    wanted = number(workload, "spec", "replicas")
    if action.requires == "stopped":
        if members or wanted:
            line = f"kubectl --context {cluster.context} -n {ENVIRONMENT} scale statefulset/{quorum} --replicas="
            raise UserError(
                f"{action.name} replaces the data of all members, and {len(members)} exist. Stop them first, and start "
                f"them again afterwards:\n  {line}0\n  {line}{max(wanted, len(members))}"
            )
        return
    least = {"whole": wanted, "majority": majority(wanted), "nothing": 0}[action.requires]
    if len(ready) < least or not wanted:
        raise UserError(
            f"{action.name} needs {least} of {wanted} members of {quorum}; {len(ready)} are ready. Nothing was run."
        )


def pods(cluster: LiveCluster, process: str) -> list[Object]:
    """Returns the pods of a service's process, such as mysqld, in the namespace of the cloud."""
    query = {"labelSelector": f"{contract.NAME}={process}"}
    return listed(cluster.api.ask("GET", _PODS, query=query), "items")


def is_ready(pod: Object) -> bool:
    """Whether a pod is Ready and not being deleted."""
    return holds(pod, "Ready") and not text(pod, "metadata", "deletionTimestamp")
