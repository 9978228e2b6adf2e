"""Restores a Galera: stops its members, replaces the data of one by a backup, and starts them again.

A copy from the object store is put into the volume of backups first, while the members serve. A run that was killed
goes on with the same command: after the members were started again, it only waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.api import MERGE
from cluster.objects import Object, name
from cluster.pod_exec import PodContainer, run_in_pod
from console.errors import UserError
from console.progress import duration
from openstack.config.wiring import ENVIRONMENT
from openstack.scripts.galera import data
from openstack.scripts.galera_backup import backup_files
from operations import action_job
from operations.actions import Action
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living.asking import not_running
from operations.living.cloud import read_quorum
from operations.living.readers import READERS
from operations.operation_lease import RESTORATION, CloudOperation, HeldLease, command, current, held, require_same
from operations.restoration import volume_pod
from operations.restoration.galera_source import GaleraSource, require_whole
from operations.wholeness_wait import await_whole

STOPS = 900.0
"""Seconds until no member exists any more. Project figure: mariadbd writes all changed pages when it ends."""
PAUSE = 2.0
ATTEMPTS = 4
"""Further attempts of the Job: it refuses while the name server still has an address of a member, and Kubernetes waits
10, 20, 40 and 80 s between them."""
WRITES = 60.0
"""Seconds until a member must have written a file. Project figure: its disk may be slow."""
_AWAIT = 'echo "$1" >"$2" && sync "$2"'
_START = "start"
Say = Callable[[str], None]


@dataclass(frozen=True)
class GaleraRestoration:
    """What is restored from what, and with what."""

    cluster: LiveCluster
    stack: str
    source: GaleraSource
    members: tuple[str, ...]
    """DNS names of the cluster's members; the pods have their first parts."""
    restored: str
    """Name of the member whose data `restores` replaces."""
    restores: Action
    """The action that replaces the data of one member."""
    tests: Action
    """The action whose pod mounts nothing but the volume of backups."""
    fetch: Callable[[], Path]
    """Fetches the copy, and returns its directory."""

    @property
    def galera(self) -> str:
        """The name of the cluster."""
        return self.source.galera

    def has_started(self) -> bool:
        """Whether this restoration was begun and has started the members again.

        Raises UserError if another operation is under way, ApiError or Unreachable.
        """
        begun = current(self.cluster.api)
        if begun:
            require_same(begun, self._operation(), self.stack)
        return begun is not None and (begun.step, begun.source) == (_START, self.source.written)

    def steps(self) -> Iterator[str]:
        """Yields what is done, in its order."""
        if self.source.is_copy:
            yield f"fetch {self.source.written} here, decrypt it, and compare its files with their digests"
            yield "put it into the volume of backups, beside those that are there, and compare it again"
        yield f"stop the {len(self.members)} members of {self.galera}; the others are to wait for {self.restored} then"
        yield f"replace the data of one by the backup (Job {self.restores.name})"
        yield "start the members: this one begins a new cluster, and the others take its data over"

    def run(self, say: Say) -> None:
        """Does the steps that are left. Raises UserError with the first that fails, ApiError or Unreachable."""
        numbered = enumerate(self.steps(), start=1)

        def tell() -> None:
            number, does = next(numbered)
            say(f"{number:>2}. {does}")

        has_started = self.has_started()
        if self.source.is_copy and not has_started:
            tell()
            backup = self.fetch()
            tell()
            self._put(backup, say)
        with held(self.cluster.api, self._operation(), self.stack, say) as lease:
            if has_started:
                say("The members were started; this run waits for them.")
            else:
                lease.change(source=self.source.written, step="")
                tell()
                self._let_wait(say)
                self._stop(lease)
                tell()
                self._replace()
                lease.change(step=_START)
                tell()
            self._start(lease, say)
            lease.finish()

    def _operation(self) -> CloudOperation:
        return CloudOperation(self.galera, RESTORATION, source=self.source.written)

    def _put(self, backup: Path, say: Say) -> None:
        size = require_whole(backup, self.members)
        volume_pod.put(self.cluster, self.tests, backup, size, lambda line: say(f"      {line}"))

    def _scale(self, replicas: int) -> None:
        path = f"/apis/apps/v1/namespaces/{ENVIRONMENT}/statefulsets/{self.galera}"
        self.cluster.api.ask("PATCH", path, {"spec": {"replicas": replicas}}, content=MERGE)

    def _let_wait(self, say: Say) -> None:
        """Lets the other members wait for the restored one before they bootstrap.

        If that one stops first, the others know of no member with newer data than theirs. They would bootstrap without
        it, with the data of before.
        """
        container = READERS["mysqld"].container
        for pod in pods(self.cluster, self.galera):
            if name(pod) == self.restored:
                continue
            if problem := not_running(pod, container):
                say(f"      {name(pod)} is not let wait: {problem}")
                continue
            place = PodContainer(ENVIRONMENT, name(pod), container)
            command = ["sh", "-c", _AWAIT, "sh", self.restored, f"{backup_files.DATA}/{data.AWAITED}"]
            done = run_in_pod(self.cluster.api.access, place, command, WRITES)
            if done.code != 0:
                said = done.errors.strip()[-300:] or done.ending
                raise UserError(f"{name(pod)} cannot be let wait for {self.restored}: {said}. Nothing was stopped.")

    def _stop(self, lease: HeldLease) -> None:
        self._scale(0)
        ends = time.monotonic() + STOPS
        while left := pods(self.cluster, self.galera):
            lease.require()
            if time.monotonic() > ends:
                raise UserError(
                    f"{', '.join(map(name, left))} still exist after {duration(STOPS)}. On a node that is down, a pod "
                    f"stays until its Node object is deleted (docs/replace.md). Then {self._again()}"
                )
            time.sleep(PAUSE)

    def _replace(self) -> None:
        spec = action_job.template(self.cluster, self.restores)
        job = action_job.job_of(spec, self.restores, self.source.time)
        made = self.cluster.api.ask("POST", f"{action_job.BATCH}/jobs", _patient(job))
        if action_job.awaited(self.cluster, name(made), PAUSE):
            raise UserError(f"The members stay stopped. Remove the cause, or name another backup; {self._again()}")

    def _start(self, lease: HeldLease, say: Say) -> None:
        self._scale(len(self.members))
        again = f"{self._again()[:-1]}: it goes on waiting"
        await_whole(self._missing, lease, lambda line: say(f"    {line}"), f"{self.galera} is not whole", again)

    def _missing(self) -> list[str]:
        found = read_quorum(self.cluster, self.galera, pods(self.cluster, self.galera))
        return [f"{each.name}: {each.says}" for each in found.members if not each.counts]

    def _again(self) -> str:
        return f"run `{command(self._operation(), self.stack)}` again."


def _patient(job: Object) -> Object:
    return {**job, "spec": {**job["spec"], "backoffLimit": ATTEMPTS}}
