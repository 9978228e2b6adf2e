"""The Job of an action: made from the spec of its CronJob or Job in the cluster, and awaited."""

from __future__ import annotations

import time

import contract
from cluster import failures
from cluster.objects import Object, holds, listed, mapping, newest, text
from console.errors import UserError
from console.progress import duration
from openstack.config.wiring import ENVIRONMENT
from operations.actions import Action
from operations.live_cluster import LiveCluster

CHOICE = "BACKUP"
"""Environment variable of the restoration Job with the backup to restore (scripts/galera_backup/restore.py)."""
BATCH = f"/apis/batch/v1/namespaces/{ENVIRONMENT}"


def template(cluster: LiveCluster, action: Action) -> Object:
    """Returns the Job spec of an action from its CronJob or newest Job in the cluster.

    Raises UserError without a Job.
    """
    if action.kind == "cronjob":
        found = [cluster.api.ask("GET", f"{BATCH}/cronjobs/{action.name}")]
        return mapping(found[0], "spec", "jobTemplate", "spec")
    query = {"labelSelector": f"{contract.NAME}={action.name}"}
    found = [
        each
        for each in listed(cluster.api.ask("GET", f"{BATCH}/jobs", query=query), "items")
        if not text(each, "metadata", "annotations", contract.ACTION)
    ]
    if not found:
        raise UserError(f"The cluster has no Job {action.name}: run `up` first.")
    return mapping(newest(found), "spec")


def job_of(spec: Object, action: Action, backup: str = "") -> Object:
    """Returns a Job made from a Job spec of the cluster, without the fields that the API server added to the spec.

    `backup`: the backup to restore; empty for the action's default.
    """
    metadata = pod_metadata(spec)
    pod = mapping(spec, "template", "spec")
    if backup:
        containers = [{**each, "env": [*listed(each, "env"), _choice(backup)]} for each in listed(pod, "containers")]
        pod = {**pod, "containers": containers}
    kept = {key: spec[key] for key in ("backoffLimit", "activeDeadlineSeconds") if key in spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": f"{action.name}-by-hand-",
            "labels": metadata["labels"],
            "annotations": {contract.ACTION: action.name},
        },
        "spec": {**kept, "template": {"metadata": metadata, "spec": pod}},
    }


def pod_metadata(spec: Object) -> Object:
    """Returns the labels and annotations of a Job spec's pods, without those that the API server added."""
    found = mapping(spec, "template", "metadata")
    labels, annotations = mapping(found, "labels"), mapping(found, "annotations")
    return {
        "labels": {key: value for key, value in labels.items() if key.startswith("app.kubernetes.io/")},
        "annotations": {key: value for key, value in annotations.items() if key == contract.COMPANION_OF},
    }


def _choice(backup: str) -> Object:
    return {"name": CHOICE, "value": backup}


def awaited(cluster: LiveCluster, job: str, pause: float = 2) -> int:
    """Waits until a Job has ended; Ctrl-C leaves it running. Returns 1 if it failed, and shows its last lines."""
    print(f"Job {ENVIRONMENT}/{job} runs in the cluster of context {cluster.context} …", flush=True)
    started = time.monotonic()
    while True:
        found = cluster.api.ask("GET", f"{BATCH}/jobs/{job}")
        if holds(found, "Complete"):
            print(f"Job {ENVIRONMENT}/{job} is complete ({duration(time.monotonic() - started)}).")
            return 0
        if holds(found, "Failed"):
            print(failures.failed_job(cluster.api, found), flush=True)
            return 1
        time.sleep(pause)
