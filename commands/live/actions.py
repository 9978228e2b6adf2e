"""`quorate action`: lists the actions of a stack's services, and runs one in the stack's cluster.

An action is either a CronJob of the stack (a backup, a restoration), or one of the Jobs that `up` runs, which may run
again. To run an action, the command creates a Job from the spec of that CronJob or Job in the cluster.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import contract
from blueprint.plan.plan import Plan
from cluster.api import ApiError, Unreachable
from cluster.objects import Object, holds, listed, mapping, name, number, text
from commands import stack
from commands.live import live_check, live_cluster
from commands.live.live_cluster import LIVE, LiveCluster
from console.errors import UserError
from console.progress import duration
from openstack.catalogue import projects
from openstack.config.wiring import ENVIRONMENT, Wiring, wiring
from openstack.definition import JobDefinition, Requirement
from text.suggestion import did_you_mean

CHOICE = "BACKUP"
"""Environment variable of the restoration Job with the backup to restore (scripts/galera_backup/restore.py)."""
_ELSEWHERE = {
    "fernet-rotate": "Fernet keys are derived from the root secret; no Job rotates them",
    "backup-db": "it is mysqld-backup here, for all databases",
    "tempest": "`quorate services` runs Tempest's smoke tests",
}
"""Actions of Fuel-CCP that Quorate provides in another form, each with the reason."""
_BATCH = f"/apis/batch/v1/namespaces/{ENVIRONMENT}"
_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"


@dataclass(frozen=True)
class Action:
    """A task of a stack's services that an operator can start with `quorate action`, such as a database backup."""

    name: str
    kind: Literal["cronjob", "job"]
    says: str
    """Purpose of the action, as `quorate action` lists it."""
    quorums: tuple[str, ...]
    """The quorums of the stack that the action uses, such as mysqld; `requires` is checked for each of them."""
    requires: Requirement | Literal["majority"]
    """State of the members of `quorums` that the action needs: a value of definition.Requirement, or `majority` (a
    majority is ready) for a Job that `up` runs too."""


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
    if found.target != LIVE:
        line = kubectl(action, stack_name)
        raise UserError(
            f"{stack_name} has the target {found.target}: it has no cluster that {wanted} could run in.\n"
            f"In the cluster to which you applied its tree, run:\n  {line}"
        )
    cluster = live_cluster.connect(root, found)
    try:
        for quorum in action.quorums:
            require_quorum(cluster, action, quorum)
        created = cluster.api.ask("POST", f"{_BATCH}/jobs", job_of(template(cluster, action), action, backup))
        return awaited(cluster, name(created))
    except (ApiError, Unreachable) as error:
        raise UserError(f"{wanted} did not run: {error}") from None


def of_plan(planned: Plan) -> Iterator[Action]:
    """Yields the actions of a plan: for each project its CronJobs, then the Jobs that `up` runs, in order."""
    around = wiring(planned, ENVIRONMENT)
    records = planned.settings.records
    placed = {records.project_of(entry.process) for entry in planned.processes}
    for project in projects(records):
        if project.processes and project.name not in placed:
            continue
        for each in project.actions(around):
            when = f" (at {each.schedule} UTC)" if each.schedule else ""
            yield Action(each.job.name, "cronjob", each.purpose + when, _quorums(each.job, around), each.requires)
        for job in project.jobs(around):
            says = f"Run again: {textwrap.shorten(job.command, 80)}"
            yield Action(job.name, "job", says, _quorums(job, around), "majority")


def _quorums(job: JobDefinition, around: Wiring) -> tuple[str, ...]:
    return tuple(filter(around.has, job.quorums))


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
    least = {"whole": wanted, "majority": wanted // 2 + 1, "nothing": 0}[action.requires]
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


def template(cluster: LiveCluster, action: Action) -> Object:
    """Returns the Job spec of an action from its CronJob or newest Job in the cluster.

    Raises UserError without a Job.
    """
    if action.kind == "cronjob":
        found = [cluster.api.ask("GET", f"{_BATCH}/cronjobs/{action.name}")]
        return mapping(found[0], "spec", "jobTemplate", "spec")
    query = {"labelSelector": f"{contract.NAME}={action.name}"}
    found = [
        each
        for each in listed(cluster.api.ask("GET", f"{_BATCH}/jobs", query=query), "items")
        if not text(each, "metadata", "annotations", contract.ACTION)
    ]
    if not found:
        raise UserError(f"The cluster has no Job {action.name}: run `up` first.")
    newest = max(found, key=lambda each: text(each, "metadata", "creationTimestamp"))
    return mapping(newest, "spec")


def job_of(spec: Object, action: Action, backup: str = "") -> Object:
    """Returns a Job made from a Job spec of the cluster, without the fields that the API server added to the spec.

    `backup`: the backup to restore; empty for the action's default.
    """
    metadata = mapping(spec, "template", "metadata")
    labels = {key: value for key, value in mapping(metadata, "labels").items() if key.startswith("app.kubernetes.io/")}
    pod = mapping(spec, "template", "spec")
    if backup:
        containers = [{**each, "env": [*listed(each, "env"), _choice(backup)]} for each in listed(pod, "containers")]
        pod = {**pod, "containers": containers}
    kept = {key: spec[key] for key in ("backoffLimit", "activeDeadlineSeconds") if key in spec}
    annotations = {
        key: value for key, value in mapping(metadata, "annotations").items() if key == contract.COMPANION_OF
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": f"{action.name}-by-hand-",
            "labels": labels,
            "annotations": {contract.ACTION: action.name},
        },
        "spec": {**kept, "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}},
    }


def _choice(backup: str) -> Object:
    return {"name": CHOICE, "value": backup}


def awaited(cluster: LiveCluster, job: str, pause: float = 2) -> int:
    """Waits until a Job has ended; Ctrl-C leaves it running. Returns 1 if it failed, and shows its last lines."""
    print(f"Job {ENVIRONMENT}/{job} runs in the cluster of context {cluster.context} …", flush=True)
    started = time.monotonic()
    while True:
        found = cluster.api.ask("GET", f"{_BATCH}/jobs/{job}")
        if holds(found, "Complete"):
            print(f"Job {ENVIRONMENT}/{job} is complete ({duration(time.monotonic() - started)}).")
            return 0
        if holds(found, "Failed"):
            print(live_check.failed_job(cluster, found), flush=True)
            return 1
        time.sleep(pause)
