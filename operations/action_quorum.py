"""Asks a quorum in the cluster whether an action may run: the members that take part, or stopped ones."""

from __future__ import annotations

from blueprint.plan.quorum_limits import majority
from cluster.objects import number
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from operations.actions import Action
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living.cloud import read_quorum


def require_quorum(cluster: LiveCluster, action: Action, quorum: str) -> None:
    """Raises UserError unless as many members of a quorum take part, or are stopped, as the action requires."""
    members = pods(cluster, quorum)
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
    if not least and wanted:
        return
    found = read_quorum(cluster, quorum, members)
    if found.counting < least or not wanted:
        lost = "".join(f"\n  {member.name}: {member.says}" for member in found.members if not member.counts)
        raise UserError(
            f"{action.name} needs {least} of {wanted} members of {quorum}; {found.counting} take part. Nothing was run."
            f"{lost}"
        )
