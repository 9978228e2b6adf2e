"""When the newest backups were made: of each Galera by its CronJob, of etcd by the copies on its members' machines.

What the backups contain is not asked: a Job of Galera's, and the unit of etcd's, only succeed with a backup that they
have opened. Nothing restores a backup on a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import contract
from cluster.api import Api, ApiError, Unreachable
from cluster.objects import Object, holds, mapping, name, text
from openstack.config.wiring import Wiring
from openstack.definition import ActionDefinition
from openstack.projects import mariadb
from operations.action_job import BATCH
from operations.living.answers import BACKUPS, Answer

DIRECTORY = "/var/lib/etcd-backup"
QUESTION = f"sh -c 'ls {DIRECTORY} 2>/dev/null; echo end'"
"""For a user who may read the directory, which is root."""
HOURLY = timedelta(hours=2)
"""Age of etcd's newest copy on a machine from which it is late. The timer makes one every hour, up to 10 minutes later;
the rest is for the copy itself, and for a timer that was due while the machine booted. Project figure."""


@dataclass(frozen=True)
class LivingBackup:
    """The newest backup of a database."""

    of: str
    """The quorum that it is of, such as mysqld."""
    maker: str
    """What makes it: a CronJob, or the timer of a machine of etcd."""
    newest: datetime | None
    """When it was complete, for etcd when it began; None if there is none."""
    limit: timedelta
    """Age that the schedule allows."""
    since: datetime | None = None
    """From when on the schedule makes them; None if that is not known, or if there is no schedule."""
    stopped: str = ""
    """Why its schedule makes no more of them; empty if it does."""

    def is_late(self, now: datetime) -> bool:
        """Whether it is older than its schedule allows, or whether none was made although one was due."""
        last = self.newest or self.since
        return bool(self.stopped) or last is None or now - last > self.limit


@dataclass(frozen=True)
class LivingBackups:
    """The newest backups, and what could not be asked."""

    found: tuple[LivingBackup, ...] = ()
    unasked: tuple[str, ...] = ()


def of_etcd(answers: Mapping[str, Answer]) -> LivingBackups:
    """Returns the newest copy on each machine of etcd that answered over SSH, by the answers of the machines."""
    found: list[LivingBackup] = []
    unasked: list[str] = []
    for machine, answer in answers.items():
        lines = answer.parts.get(BACKUPS, "").split()
        if lines[-1:] != ["end"]:
            unasked.append(machine)
            continue
        newest = max(filter(None, map(_began, lines)), default=None)
        found.append(LivingBackup("etcd", f"timer on {machine}", newest, HOURLY))
    said = f"the copies of etcd's data on {', '.join(unasked)} were not read: they are asked over SSH"
    return LivingBackups(tuple(found), (said,) if unasked else ())


def _began(file: str) -> datetime | None:
    """Returns when a copy was begun, by the name of its file; None for another file."""
    try:
        return datetime.strptime(file, "%Y%m%dT%H%M%SZ.db").replace(tzinfo=UTC)
    except ValueError:
        return None


def of_galera(api: Api, around: Wiring) -> LivingBackups:
    """Returns the newest backup of each Galera, by the CronJobs and Jobs of the cluster."""
    wanted = [each for each in mariadb.actions(around) if each.schedule and around.has(each.beside or "")]
    if not wanted:
        return LivingBackups()
    try:
        schedules = {name(each): each for each in api.items(f"{BATCH}/cronjobs?resourceVersion=0")[0]}
        jobs = api.items(f"{BATCH}/jobs?resourceVersion=0")[0]
    except (ApiError, Unreachable) as error:
        return LivingBackups(unasked=(f"the backups of Galera were not read: {error}",))
    return LivingBackups(tuple(_of_schedule(each, schedules.get(each.job.name, {}), jobs) for each in wanted))


def _of_schedule(action: ActionDefinition, schedule: Object, jobs: Sequence[Object]) -> LivingBackup:
    is_suspended = bool(mapping(schedule, "spec").get("suspend"))
    ends = [_time(schedule, "status", "lastSuccessfulTime"), *_by_hand(action.job.name, jobs)]
    return LivingBackup(
        action.beside or "",
        f"CronJob {action.job.name}",
        max((end for end in ends if end), default=None),
        mariadb.PERIOD + timedelta(seconds=action.deadline),
        since=_time(schedule, "metadata", "creationTimestamp"),
        stopped="it is suspended" if is_suspended else "" if schedule else "the cluster does not have it",
    )


def _by_hand(action: str, jobs: Sequence[Object]) -> Iterator[datetime | None]:
    """Yields when the Jobs that `quorate action` made were complete, of which the CronJob does not know."""
    for job in jobs:
        if text(job, "metadata", "annotations", contract.ACTION) == action and holds(job, "Complete"):
            yield _time(job, "status", "completionTime")


def _time(item: Object, *keys: str) -> datetime | None:
    found = text(item, *keys)
    return datetime.fromisoformat(found) if found else None
