"""When the newest backups were made, and when one was restored to a scratch copy and compared last.

Backups of Galera are asked of their CronJobs, those of etcd are files on its members' machines. The Job of a test only
succeeds if the restored copy has the content of the backup; a machine of etcd writes when its last test succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import contract
from cluster.api import Api, ApiError, Unreachable
from cluster.objects import Object, holds, listed, mapping, name, text
from openstack.config.wiring import Wiring
from openstack.definition import ActionDefinition
from openstack.monitoring import limits
from openstack.projects import mariadb
from operations.action_job import BATCH
from operations.living.answers import BACKUPS, Answer

DIRECTORY = "/var/lib/etcd-backup"
QUESTION = f"sh -c 'cd {DIRECTORY} 2>/dev/null && {{ ls; cat last-test failed-test last-copy 2>/dev/null; }}; echo end'"
"""For a user who may read the directory, which is root."""


@dataclass(frozen=True)
class Scheduled:
    """What a schedule does with the backups of a database, and when it succeeded last."""

    maker: str
    """What does it, such as a CronJob."""
    newest: datetime | None
    """When it succeeded last; None if it never did."""
    limit: timedelta
    """Age that its schedule allows."""
    since: datetime | None = None
    """From when on it was due; None if that is not known, or if there is no schedule."""
    problem: str = ""
    """Why there is no later one: it failed, or its schedule makes no more; empty if there is no reason."""

    def is_late(self, now: datetime) -> bool:
        """Whether it failed, is older than its schedule allows, or was never made although one was due."""
        last = self.newest or self.since
        return bool(self.problem) or last is None or now - last > self.limit


class RestoredTest(Scheduled):
    """The last time that a backup was restored to a scratch copy and had the same content."""


class StoredCopy(Scheduled):
    """The last copy in an object store: when etcd's backup was begun, or all of a Galera's were found to be there."""


@dataclass(frozen=True)
class CopyTest(Scheduled):
    """The last time that a copy in the object store, whose name is `maker`, was restored and had the same content."""

    of: str = ""
    """The database, such as mysqld."""


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
    test: RestoredTest | None = None
    """The last restored test of its backups; None if nothing restores them."""
    copy: StoredCopy | None = None
    """Its newest copy in the object store; None if nothing puts them there."""

    def is_late(self, now: datetime) -> bool:
        """Whether it is older than its schedule allows, or whether none was made although one was due."""
        last = self.newest or self.since
        return bool(self.stopped) or last is None or now - last > self.limit


@dataclass(frozen=True)
class LivingBackups:
    """The newest backups, and what could not be asked."""

    found: tuple[LivingBackup, ...] = ()
    unasked: tuple[str, ...] = ()
    copy_tests: tuple[CopyTest, ...] = ()
    """Of each database whose backups are copied to an object store."""


def of_etcd(answers: Mapping[str, Answer], *, has_copies: bool = False) -> LivingBackups:
    """Returns the newest copy on each machine of etcd that answered over SSH, by the answers of the machines.

    `has_copies`: whether the machines put them into an object store.
    """
    found: list[LivingBackup] = []
    unasked: list[str] = []
    for machine, answer in answers.items():
        lines = answer.parts.get(BACKUPS, "").splitlines()
        if lines[-1:] != ["end"]:
            unasked.append(machine)
            continue
        copies = list(filter(None, map(began, lines)))
        newest = max(copies, default=None)
        since = min(copies, default=None)
        test = _test_on(machine, lines, since)
        stored = _copy_of(machine, lines, since) if has_copies else None
        timer = f"timer on {machine}"
        found.append(LivingBackup("etcd", timer, newest, limits.ETCD_BACKUP, test=test, copy=stored))
    said = f"the copies of etcd's data on {', '.join(unasked)} were not read: they are asked over SSH"
    return LivingBackups(tuple(found), (said,) if unasked else ())


def _test_on(machine: str, lines: Sequence[str], since: datetime | None) -> RestoredTest:
    """Returns the last restored test on a machine of etcd, by the files that its script writes."""
    words = _words(lines)
    failed = began(f"{words.get('failed', '')}.db")
    problem = f"the test of {failed:%Y-%m-%d %H:%M} UTC failed" if failed else ""
    newest = began(f"{words.get('restored', '')}.db")
    return RestoredTest(f"test on {machine}", newest, limits.ETCD_TEST, since, problem)


def _copy_of(machine: str, lines: Sequence[str], since: datetime | None) -> StoredCopy:
    """Returns the newest copy of a machine of etcd in the object store, by the file that its script writes."""
    newest = began(f"{_words(lines).get('copied', '')}.db")
    return StoredCopy(f"copies of {machine}", newest, limits.ETCD_COPY, since)


def _words(lines: Sequence[str]) -> dict[str, str]:
    """Returns the second word of each line by the first one."""
    return {each[0]: each[1] for each in (line.split() for line in lines) if len(each) > 1}


def began(file: str) -> datetime | None:
    """Returns when a copy was begun, by the name of its file; None for another file."""
    try:
        return datetime.strptime(file, "%Y%m%dT%H%M%SZ.db").replace(tzinfo=UTC)
    except ValueError:
        return None


def of_galera(api: Api, around: Wiring) -> LivingBackups:
    """Returns the newest backup of each Galera, by the CronJobs and Jobs of the cluster."""
    all_actions = [each for each in mariadb.actions(around) if each.schedule and around.has(each.beside or "")]
    tests = {each.tests: each for each in all_actions if each.tests}
    copies = {each.copies: each for each in all_actions if each.copies}
    wanted = [each for each in all_actions if not (each.tests or each.copies)]
    if not wanted:
        return LivingBackups()
    try:
        schedules = {name(each): each for each in api.items(f"{BATCH}/cronjobs?resourceVersion=0")[0]}
        jobs = api.items(f"{BATCH}/jobs?resourceVersion=0")[0]
    except (ApiError, Unreachable) as error:
        return LivingBackups(unasked=(f"the backups of Galera were not read: {error}",))
    found = (
        replace(
            _backup(each, schedules, jobs),
            test=_test(tests[each.job.name], schedules, jobs),
            copy=_copy(copies.get(each.job.name), schedules, jobs),
        )
        for each in wanted
    )
    return LivingBackups(tuple(found))


def _backup(action: ActionDefinition, schedules: Mapping[str, Object], jobs: Sequence[Object]) -> LivingBackup:
    schedule = schedules.get(action.job.name, {})
    return LivingBackup(
        action.beside or "",
        f"CronJob {action.job.name}",
        _last_success(action, schedule, jobs),
        mariadb.age_limit(action),
        since=_time(schedule, "metadata", "creationTimestamp"),
        stopped=_stopped(schedule),
    )


def _test(action: ActionDefinition, schedules: Mapping[str, Object], jobs: Sequence[Object]) -> RestoredTest:
    schedule = schedules.get(action.job.name, {})
    newest = _last_success(action, schedule, jobs)
    failed = max(_failures(action.job.name, jobs), default=None)
    is_worse = failed and (not newest or failed > newest)
    problem = f"the test of {failed:%Y-%m-%d %H:%M} UTC failed" if is_worse else ""
    return RestoredTest(
        f"CronJob {action.job.name}",
        newest,
        mariadb.age_limit(action),
        since=_time(schedule, "metadata", "creationTimestamp"),
        problem=_stopped(schedule) or problem,
    )


def _copy(
    action: ActionDefinition | None, schedules: Mapping[str, Object], jobs: Sequence[Object]
) -> StoredCopy | None:
    if action is None:
        return None
    schedule = schedules.get(action.job.name, {})
    return StoredCopy(
        f"CronJob {action.job.name}",
        _last_success(action, schedule, jobs),
        mariadb.age_limit(action),
        since=_time(schedule, "metadata", "creationTimestamp"),
        problem=_stopped(schedule),
    )


def _stopped(schedule: Object) -> str:
    is_suspended = bool(mapping(schedule, "spec").get("suspend"))
    return "it is suspended" if is_suspended else "" if schedule else "the cluster does not have it"


def _last_success(action: ActionDefinition, schedule: Object, jobs: Sequence[Object]) -> datetime | None:
    """Returns the newest success of a schedule, or of `quorate action`, of whose Jobs the CronJob does not know."""
    by_hand = (
        _time(job, "status", "completionTime")
        for job in jobs
        if text(job, "metadata", "annotations", contract.ACTION) == action.job.name and holds(job, "Complete")
    )
    return max(filter(None, (_time(schedule, "status", "lastSuccessfulTime"), *by_hand)), default=None)


def _failures(action: str, jobs: Sequence[Object]) -> Iterator[datetime]:
    """Yields when Jobs of an action failed: of its CronJob, which owns them, and of `quorate action`."""
    for job in jobs:
        owners = {text(each, "name") for each in listed(job, "metadata", "ownerReferences")}
        if action in (text(job, "metadata", "annotations", contract.ACTION), *owners):
            for each in listed(job, "status", "conditions"):
                if (text(each, "type"), text(each, "status")) == ("Failed", "True"):
                    yield datetime.fromisoformat(text(each, "lastTransitionTime"))


def _time(item: Object, *keys: str) -> datetime | None:
    found = text(item, *keys)
    return datetime.fromisoformat(found) if found else None
