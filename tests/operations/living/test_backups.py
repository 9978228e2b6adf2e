"""Backups as CronJobs and Jobs of the cluster, and the files on machines of etcd, tell of them."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import contract
from blueprint.plan.planner import plan
from cluster.api import Api, ApiError
from cluster.objects import Object
from components.k8s_master import etcd
from openstack.config.wiring import ENVIRONMENT, Wiring, wiring
from openstack.projects import mariadb
from operations.living import backups
from operations.living.answers import Answer
from operations.living.backups import LivingBackup, LivingBackups
from tests.stacks import full_size, parsed

AROUND = wiring(plan(parsed(full_size("100"))), ENVIRONMENT)
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
LIMIT = timedelta(hours=30)


def schedule(success: str = "", name: str = "mysqld-backup", **spec: Any) -> Object:
    metadata = {"name": name, "creationTimestamp": "2026-11-01T10:00:00Z"}
    status = {"lastScheduleTime": "2026-11-28T02:17:00Z"} | ({"lastSuccessfulTime": success} if success else {})
    return {"metadata": metadata, "spec": {"suspend": False} | spec, "status": status}


def job(end: str, action: str = "mysqld-backup", condition: str = "Complete") -> Object:
    metadata = {"name": "mysqld-backup-by-hand-x7k2p", "annotations": {contract.ACTION: action}}
    ended = {"type": condition, "status": "True", "lastTransitionTime": end}
    return {"metadata": metadata, "status": {"completionTime": end, "conditions": [ended]}}


def scheduled_job(end: str, schedule: str, condition: str) -> Object:
    """A Job that a CronJob made."""
    made = job(end, condition=condition)
    return {**made, "metadata": {"name": "x", "ownerReferences": [{"kind": "CronJob", "name": schedule}]}}


class Batch:
    """An API server that lists CronJobs and Jobs."""

    def __init__(self, *jobs: Object, schedules: tuple[Object, ...] = (), refusal: ApiError | None = None) -> None:
        self.schedules, self.jobs, self.refusal = list(schedules), list(jobs), refusal

    def items(self, path: str) -> tuple[list[Object], str]:
        if self.refusal:
            raise self.refusal
        return (self.schedules if "/cronjobs" in path else self.jobs), "1"


def of_galera(*jobs: Object, schedules: tuple[Object, ...] = (), refusal: ApiError | None = None) -> LivingBackups:
    return backups.of_galera(cast("Api", Batch(*jobs, schedules=schedules, refusal=refusal)), AROUND)


def test_the_newest_backup_is_that_of_the_schedule_or_one_by_hand() -> None:
    last = schedule("2026-11-27T02:31:10Z")
    (found,) = of_galera(schedules=(last,)).found
    assert (found.of, found.maker, found.limit) == ("mysqld", "CronJob mysqld-backup", LIMIT)
    assert found.newest == datetime(2026, 11, 27, 2, 31, 10, tzinfo=UTC)
    assert found.is_late(NOW)
    assert not found.is_late(NOW - timedelta(hours=4))

    later = job("2026-11-28T09:00:00Z")
    (found,) = of_galera(later, schedules=(last,)).found
    assert found.newest == datetime(2026, 11, 28, 9, tzinfo=UTC)
    assert not found.is_late(NOW)


@pytest.mark.parametrize(
    "other", [job("2026-11-28T09:00:00Z", action="mysqld-restore"), job("2026-11-28T09:00:00Z", condition="Failed")]
)
def test_a_restoration_and_a_backup_that_failed_are_no_backups(other: Object) -> None:
    (found,) = of_galera(other, schedules=(schedule("2026-11-27T02:31:10Z"),)).found
    assert found.newest == datetime(2026, 11, 27, 2, 31, 10, tzinfo=UTC)


def test_what_never_made_a_backup_is_late_when_one_was_due() -> None:
    (found,) = of_galera(schedules=(schedule(),)).found
    assert found.newest is None
    assert found.is_late(NOW)
    assert not found.is_late(datetime(2026, 11, 2, 10, tzinfo=UTC))


TESTED = schedule("2026-11-28T09:25:00Z", name="mysqld-backup-test")


def test_the_last_restored_test_is_that_of_its_schedule_or_one_by_hand() -> None:
    by_hand = job("2026-11-28T10:00:00Z", action="mysqld-backup-test")
    for jobs, end in (((), (9, 25)), ((by_hand,), (10, 0)), ((job("2026-11-28T10:00:00Z"),), (9, 25))):
        (found,) = of_galera(*jobs, schedules=(schedule(), TESTED)).found
        assert found.test
        assert (found.test.maker, found.test.newest) == (
            "CronJob mysqld-backup-test",
            datetime(2026, 11, 28, *end, tzinfo=UTC),
        )
        assert not found.test.is_late(NOW)
        assert found.test.is_late(NOW + timedelta(days=2))


FAILED = "the test of 2026-11-28 11:00 UTC failed"


@pytest.mark.parametrize(
    ("failed", "problem"),
    [
        (job("2026-11-28T11:00:00Z", "mysqld-backup-test", "Failed"), FAILED),
        (scheduled_job("2026-11-28T11:00:00Z", "mysqld-backup-test", "Failed"), FAILED),
        (scheduled_job("2026-11-28T09:00:00Z", "mysqld-backup-test", "Failed"), ""),
        (scheduled_job("2026-11-28T11:00:00Z", "mysqld-backup-test", "FailureTarget"), ""),
        (scheduled_job("2026-11-28T11:00:00Z", "mysqld-backup", "Failed"), ""),
    ],
)  # fmt: skip
def test_a_test_that_failed_after_the_last_success_is_named(failed: Object, problem: str) -> None:
    (found,) = of_galera(failed, schedules=(schedule(), TESTED)).found
    assert found.test
    assert (found.test.problem, found.test.is_late(NOW)) == (problem, bool(problem))


def test_a_test_whose_schedule_is_gone_suspended_or_never_succeeded_is_late() -> None:
    without, suspended = schedule(name="mysqld-backup-test"), schedule(name="mysqld-backup-test", suspend=True)
    for tests, problem in (
        ((), "the cluster does not have it"),
        ((suspended,), "it is suspended"),
        ((without,), ""),
    ):
        (found,) = of_galera(schedules=(schedule("2026-11-28T02:31:10Z"), *tests)).found
        assert found.test
        assert (found.test.problem, found.test.newest, found.test.is_late(NOW)) == (problem, None, True)


def test_a_schedule_that_is_gone_or_suspended_is_late_also_after_a_backup_by_hand() -> None:
    (gone,) = of_galera(job("2026-11-28T09:00:00Z")).found
    assert (gone.is_late(NOW), gone.stopped) == (True, "the cluster does not have it")
    (suspended,) = of_galera(schedules=(schedule("2026-11-28T02:31:10Z", suspend=True),)).found
    assert (suspended.is_late(NOW), suspended.stopped) == (True, "it is suspended")


def test_a_cluster_that_refuses_to_list_them_is_no_proof() -> None:
    found = of_galera(refusal=ApiError(403, "Forbidden", "cannot list cronjobs"))
    assert found == LivingBackups(unasked=("the backups of Galera were not read: 403 Forbidden: cannot list cronjobs",))


def test_a_stack_without_galera_has_no_backups_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def has(_around: Wiring, _process: str) -> bool:
        return False

    monkeypatch.setattr(Wiring, "has", has)
    assert of_galera(refusal=ApiError(403, "Forbidden", "not asked")) == LivingBackups()


STORE = {"endpoint": "https://s3.example.org", "bucket": "backups", "prefix": "prod"}
COPIES = {**STORE, "accessKey": {"environment": "ACCESS"}, "secretKey": {"environment": "SECRET"}}


def test_copies_of_galera_are_asked_of_their_cronjob() -> None:
    around = wiring(plan(parsed(full_size("100", backups={"copies": COPIES}))), ENVIRONMENT)
    last = schedule("2026-11-28T05:47:10Z", name="mysqld-backup-copy")
    for copies, newest, problem, is_late in (
        ((last,), 5, "", False),
        ((schedule("2026-11-28T04:47:10Z", name="mysqld-backup-copy"),), 4, "", True),
        ((schedule("2026-11-28T05:47:10Z", name="mysqld-backup-copy", suspend=True),), 5, "it is suspended", True),
        ((), None, "the cluster does not have it", True),
    ):
        api = cast("Api", Batch(schedules=(schedule("2026-11-28T02:31:10Z"), *copies)))
        (found,) = backups.of_galera(api, around).found
        assert found.copy
        assert (found.copy.maker, found.copy.limit) == ("CronJob mysqld-backup-copy", timedelta(hours=7))
        assert (found.copy.newest and found.copy.newest.hour, found.copy.problem) == (newest, problem)
        assert found.copy.is_late(NOW) is is_late
    (found,) = of_galera(schedules=(schedule("2026-11-28T02:31:10Z"), last)).found
    assert found.copy is None, "the stack has no object store any more"


def test_a_backup_is_made_each_period() -> None:
    minute, hour, *rest = mariadb.schedule(0).split()
    assert (minute.isdecimal(), hour.isdecimal(), rest, mariadb.PERIOD) == (True, True, ["*"] * 3, timedelta(days=1))


def test_copies_of_etcd_by_machine() -> None:
    said = {
        "master1": Answer({"backups": "20261128T091502Z.db\n20261128T110203Z.db\nnew\nend\n"}),
        "master2": Answer({"backups": "20261128T091502Z.db\nlost.db\nend\n"}),
        "master3": Answer({"backups": "end\n"}),
        "master4": Answer(problem="its machine was not asked: timed out"),
        "master5": Answer({"metrics": "etcd_server_has_leader 1"}),
        "master6": Answer({"backups": "20261128T091502Z.db\n"}),
    }
    found = backups.of_etcd(said)
    assert [(each.maker, each.newest, each.is_late(NOW)) for each in found.found] == [
        ("timer on master1", datetime(2026, 11, 28, 11, 2, 3, tzinfo=UTC), False),
        ("timer on master2", datetime(2026, 11, 28, 9, 15, 2, tzinfo=UTC), True),
        ("timer on master3", None, True),
    ]
    names = "master4, master5, master6"
    assert found.unasked == (f"the copies of etcd's data on {names} were not read: they are asked over SSH",)


def test_the_last_restored_test_of_etcd_by_machine() -> None:
    copies = "20261126T091502Z.content\n20261126T091502Z.db\n20261128T110203Z.db\nlast-test\n"
    said = {
        "master1": Answer({"backups": f"{copies}restored 20261128T020000Z 20261128T010203Z.db\nend\n"}),
        "master2": Answer({"backups": f"{copies}restored 20261126T120000Z 20261126T110203Z.db\nend\n"}),
        "master3": Answer({"backups": f"{copies}restored 20261128T020000Z x.db\nfailed 20261128T113000Z\nend\n"}),
        "master4": Answer({"backups": f"{copies}end\n"}),
        "master5": Answer({"backups": "20261128T110203Z.db\nend\n"}),
    }
    tests = [each.test for each in backups.of_etcd(said).found if each.test]
    assert [(each.newest and each.newest.day, each.problem, each.is_late(NOW)) for each in tests] == [
        (28, "", False),
        (26, "", True),
        (28, "the test of 2026-11-28 11:30 UTC failed", True),
        (None, "", True),
        (None, "", False),
    ]


def test_the_newest_copy_in_the_object_store_by_machine() -> None:
    copies = "20261126T091502Z.db\n20261128T110203Z.db\nlast-copy\n"
    said = {
        "master1": Answer({"backups": f"{copies}copied 20261128T110203Z\nend\n"}),
        "master2": Answer({"backups": f"{copies}copied 20261128T080203Z\nend\n"}),
        "master3": Answer({"backups": f"{copies}end\n"}),
        "master4": Answer({"backups": "20261128T110203Z.db\nend\n"}),
    }
    found = [each.copy for each in backups.of_etcd(said, has_copies=True).found if each.copy]
    assert [(each.maker, each.newest and each.newest.hour, each.is_late(NOW)) for each in found] == [
        ("copies of master1", 11, False),
        ("copies of master2", 8, True),
        ("copies of master3", None, True),
        ("copies of master4", None, False),
    ]
    assert {each.copy for each in backups.of_etcd(said).found} == {None}, "the stack has no object store any more"


def test_the_question_names_the_copies_that_the_unit_makes(tmp_path: Path) -> None:
    """The names are those that the script gives with real members (tests/proof/test_etcd_copies.py)."""
    assert backups.DIRECTORY == etcd.BACKUP
    assert "OnCalendar=hourly\nRandomizedDelaySec=10m" in etcd.BACKUP_TIMER
    assert "OnCalendar=daily\nRandomizedDelaySec=6h" in etcd.TEST_TIMER
    question = backups.QUESTION.replace(etcd.BACKUP, str(tmp_path / "copies"))

    def asked() -> LivingBackup:
        done = subprocess.run(["sh", "-c", question], capture_output=True, text=True, check=True)
        return backups.of_etcd({"here": Answer({"backups": done.stdout})}).found[0]

    assert asked().newest is None
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "new").touch()
    (tmp_path / "copies" / "20261128T091502Z.db").touch()
    assert asked().newest == datetime(2026, 11, 28, 9, 15, 2, tzinfo=UTC)
    (tmp_path / "copies" / "last-test").write_text("restored 20261128T100000Z 20261128T091502Z.db\n")
    (tmp_path / "copies" / "failed-test").write_text("failed 20261128T110000Z\n")
    test = asked().test
    assert test
    assert (test.newest, test.problem) == (
        datetime(2026, 11, 28, 10, tzinfo=UTC),
        "the test of 2026-11-28 11:00 UTC failed",
    )
    (tmp_path / "copies" / "last-copy").write_text("copied 20261128T091502Z\n")
    done = subprocess.run(["sh", "-c", question], capture_output=True, text=True, check=True)
    copy = backups.of_etcd({"here": Answer({"backups": done.stdout})}, has_copies=True).found[0].copy
    assert copy
    assert copy.newest == datetime(2026, 11, 28, 9, 15, 2, tzinfo=UTC)
