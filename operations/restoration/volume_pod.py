"""Puts a fetched backup of a Galera into the volume of its backups: through a pod that mounts the volume.

The pod is that of the backups' test with another command, so that it has the image, the node and the claim. The backup
goes to it over the API server, as `kubectl exec` does, so that no machine needs to be reached and any storage will do.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.objects import Object, at, has_ended, listed, mapping, name, text
from cluster.pod_exec import PodContainer, run_in_pod
from console.errors import UserError
from openstack import scripts
from openstack.config.wiring import ENVIRONMENT
from operations.action_job import pod_metadata, template
from operations.actions import Action
from operations.live_cluster import LiveCluster

LIMIT = 6 * 3600
"""Seconds that it may take, as for a backup (openstack/projects/mariadb.py). Then the pod ends by itself."""
STARTS = 600.0
"""Seconds until the pod must run: its image may have to be pulled. Project figure."""
PART = 128 * 1024
"""Bytes that are sent at once. Project figure."""
_PAUSE = 1.0
_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"
Say = Callable[[str], None]


def put(cluster: LiveCluster, test: Action, backup: Path, size: int, say: Say) -> None:
    """Puts the directory of a backup into the volume that the action `test` mounts. One that is there is compared.

    `size`: bytes that the volume must have free for it. Raises UserError with the reason if it is not there afterwards.
    """
    with _pod(cluster, test) as place:
        command = ["python3", "-c", scripts.text("galera_receive.py"), backup.name, str(size)]
        done = run_in_pod(cluster.api.access, place, command, LIMIT, parts(backup))
    for line in done.errors.splitlines():
        say(line)
    if done.code != 0:
        raise UserError(f"{backup.name} was not put into the volume of backups ({done.ending}). Run the command again.")


def parts(backup: Path) -> Iterator[bytes]:
    """Yields a backup as openstack/scripts/galera_receive.py reads it. Raises UserError if it cannot be read."""
    command = ["tar", "--create", f"--directory={backup.parent}", "--file=-", "--", backup.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        while tar.stdout and (part := tar.stdout.read(PART)):
            yield len(part).to_bytes(4, "big") + part
    if tar.returncode:
        raise UserError(f"{backup} could not be read: tar ended with {tar.returncode}.")
    yield bytes(4)


@contextmanager
def _pod(cluster: LiveCluster, test: Action) -> Generator[PodContainer]:
    """Runs a pod that mounts the volume, and deletes it."""
    made = cluster.api.ask("POST", _PODS, pod_of(template(cluster, test), test.name))
    try:
        yield _started(cluster, name(made))
    finally:
        cluster.api.ask("DELETE", f"{_PODS}/{name(made)}", query={"gracePeriodSeconds": "0"})


def pod_of(job: Object, test: str) -> Object:
    """Returns a pod that does nothing, with the volumes of a Job's."""
    spec = mapping(job, "template", "spec")
    container = {**listed(spec, "containers")[0], "command": ["sleep", str(LIMIT)], "args": []}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{test}-receives-", **pod_metadata(job)},
        "spec": {**spec, "containers": [container], "activeDeadlineSeconds": LIMIT, "restartPolicy": "Never"},
    }


def _started(cluster: LiveCluster, pod: str) -> PodContainer:
    """Waits until a pod runs. Raises UserError with what it waits for if it does not."""
    ends = time.monotonic() + STARTS
    while True:
        found = cluster.api.ask("GET", f"{_PODS}/{pod}")
        if at(found, "status", "phase") == "Running":
            return PodContainer(ENVIRONMENT, pod, text(listed(found, "spec", "containers")[0], "name"))
        if has_ended(found) or time.monotonic() > ends:
            raise UserError(f"Pod {pod}, which mounts the volume of backups, does not run: {_reason(found)}.")
        time.sleep(_PAUSE)


def _reason(pod: Object) -> str:
    waiting = [mapping(each, "state", "waiting") for each in listed(pod, "status", "containerStatuses")]
    conditions = [each for each in listed(pod, "status", "conditions") if each.get("status") == "False"]
    said = [text(each, "message") or text(each, "reason") for each in (*waiting, *conditions)]
    return next(filter(None, said), f"its phase is {text(pod, 'status', 'phase') or 'not known'}")
