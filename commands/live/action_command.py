"""`quorate action`: lists the actions of a stack's services, and runs one in the stack's cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cluster.api import ApiError, Unreachable
from cluster.objects import name
from commands import stack
from commands.live import connection
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from operations import action_job
from operations.action_quorum import require_quorum
from operations.actions import Action, of_plan
from text.suggestion import did_you_mean

_ELSEWHERE = {
    "fernet-rotate": "Fernet keys are derived from the root secret; no Job rotates them",
    "backup-db": "it is mysqld-backup here, for all databases",
    "tempest": "`quorate services` runs Tempest's smoke tests",
}
"""Actions of Fuel-CCP that Quorate provides in another form, each with the reason."""


def run(root: Path, stack_name: str, wanted: str, backup: str = "") -> int:
    """Runs the action `wanted` and waits for its end; lists all actions if it is empty. Returns 1 if the Job fails."""
    found = stack.load(root, stack_name)
    known = {each.name: each for each in of_plan(found.plan)}
    if not wanted:
        print(table(known), end="")
        return 0
    action = known.get(wanted)
    if action is None:
        why = f": {_ELSEWHERE[wanted]}" if wanted in _ELSEWHERE else did_you_mean(wanted, known)
        raise UserError(f"There is no action {wanted}{why}.\n`quorate action --stack {stack_name}` lists all of them.")
    if backup and action.requires != "stopped":
        raise UserError(f"--backup is for a restoration such as mysqld-restore; {wanted} takes none.")
    if found.is_rendered:
        line = kubectl(action, stack_name)
        raise UserError(
            f"{stack_name} has the target {found.target}: it has no cluster that {wanted} could run in.\n"
            f"In the cluster to which you applied its tree, run:\n  {line}"
        )
    cluster = connection.connect(root, found)
    try:
        for quorum in action.quorums:
            require_quorum(cluster, action, quorum)
        created = cluster.api.ask(
            "POST", f"{action_job.BATCH}/jobs", action_job.job_of(action_job.template(cluster, action), action, backup)
        )
        return action_job.awaited(cluster, name(created))
    except (ApiError, Unreachable) as error:
        raise UserError(f"{wanted} did not run: {error}") from None


def table(known: Mapping[str, Action]) -> str:
    """Returns the list of actions as text: a line with name and purpose for each."""
    width = max(map(len, known), default=0)
    return "".join(f"{each.name:<{width}}  {each.says}\n" for each in known.values())


def kubectl(action: Action, stack_name: str) -> str:
    """Returns the kubectl line that runs an action in the cluster to which a stack's rendered tree was applied."""
    if action.kind == "cronjob":
        return f"kubectl -n {ENVIRONMENT} create job {action.name}-by-hand --from=cronjob/{action.name}"
    tree = f"build/{stack_name}/manifests/1-manifest"
    return f"kubectl replace --force -f {tree}/batch_v1-job-{ENVIRONMENT}-{action.name}-*.yaml"
