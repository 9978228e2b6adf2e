"""Old backups, failed tests and certificates that expire are alerts: the rendered rules in the real promtool.

promtool's time begins at 0, so that a time in the past is negative.
"""

from __future__ import annotations

import pytest

from blueprint.plan.planner import plan
from openstack.monitoring import age_alerts
from tests.openstack.monitoring.test_age_alerts import COPIES
from tests.stacks import full_size, parsed
from tests.trials.services.promtool import Metrics, raised, rules, rules_of
from trials.services.testbed import ServiceMachine

HOUR, DAY = 3600, 86400
MASTERS = [f"10.0.0.{number}:9100" for number in (1, 2, 3)]
LIMITS = {"etcd-backup": 2 * HOUR, "etcd-backup-test": 31 * HOUR, "mysqld-backup": 30 * HOUR}
LIMITS["mysqld-backup-test"] = LIMITS["mysqld-backup"]


def told(**changed: int) -> Metrics:
    """What three masters tell of backups: all were made at 0, but those of `changed`, by names with underscores."""
    metrics = Metrics("node", MASTERS)
    for schedule in LIMITS:
        at = changed.get(schedule.replace("-", "_"), 0)
        metrics.each(age_alerts.SUCCESS, f"{at}x1000", schedule=schedule)
        if schedule.startswith("mysqld"):
            metrics.each(age_alerts.SUSPENDED, "0x1000", schedule=schedule)
    return metrics


def backups(tool: ServiceMachine, metrics: Metrics, minutes: str) -> dict[str, tuple[str, str]]:
    return raised(tool, rules(3), metrics, minutes, "backups")


def test_backups_and_tests_in_time_raise_nothing(tool: ServiceMachine) -> None:
    assert backups(tool, told(), "90m") == {}


@pytest.mark.parametrize("schedule", LIMITS)
def test_a_late_backup_or_test_is_named(tool: ServiceMachine, schedule: str) -> None:
    """Half an hour before 0 it was still in time for 30 minutes; then the alert waits 10 minutes."""
    limit = LIMITS[schedule]
    metrics = told(**{schedule.replace("-", "_"): 30 * 60 - limit})
    assert backups(tool, metrics, "39m") == {}
    ((name, (severity, summary)),) = backups(tool, metrics, "41m").items()
    assert (name, severity) == ("BackupTestLate" if schedule.endswith("test") else "BackupLate", "warning")
    assert summary.endswith(f"its schedule allows {limit // HOUR} h")
    of = f"mysqld, {schedule}" if schedule.startswith("mysqld") else f"etcd on 10.0.0.3:9100, {schedule}"
    assert summary.startswith(of)


def test_one_machine_of_etcd_with_a_late_backup_is_named(tool: ServiceMachine) -> None:
    metrics = told()
    line = next(each for each in metrics.lines if 'schedule="etcd-backup"' in each["series"])
    line["values"] = f"{-3 * HOUR}x1000"
    ((name, (_, summary)),) = backups(tool, metrics, "30m").items()
    assert name == "BackupLate"
    assert summary.startswith("etcd on 10.0.0.1:9100, etcd-backup: the newest backup is 3h 30m")


def test_a_master_with_older_knowledge_of_a_cronjob_raises_nothing(tool: ServiceMachine) -> None:
    metrics = told()
    line = next(each for each in metrics.lines if 'schedule="mysqld-backup"' in each["series"])
    line["values"] = f"{-40 * HOUR}x1000"
    assert backups(tool, metrics, "90m") == {}


@pytest.mark.parametrize("schedule", ["etcd-backup-test", "mysqld-backup-test"])
def test_a_failed_test_is_named_until_another_succeeds(tool: ServiceMachine, schedule: str) -> None:
    metrics = told().each(age_alerts.FAILURE, "60x1000", schedule=schedule)
    assert set(backups(tool, metrics, "5m")) == {"BackupTestFailed"}
    metrics = told(**{schedule.replace("-", "_"): 120}).each(age_alerts.FAILURE, "60x1000", schedule=schedule)
    assert backups(tool, metrics, "5m") == {}


def test_a_suspended_cronjob_is_named(tool: ServiceMachine) -> None:
    metrics = told()
    for line in metrics.lines:
        if age_alerts.SUSPENDED in line["series"] and '"mysqld-backup"' in line["series"]:
            line["values"] = "1x1000"
    assert backups(tool, metrics, "55m") == {}
    assert set(backups(tool, metrics, "65m")) == {"BackupSuspended"}


def test_a_restored_test_of_copies_that_is_late_or_failed_is_named(tool: ServiceMachine) -> None:
    """Of three masters, one has not asked since the last test. A failure is named before any success, too."""
    stack = rules_of(plan(parsed(full_size("100", backups=COPIES))))
    metrics = told()
    for schedule in ("etcd-backup-copy", "mysqld-backup-copy", "mysqld-copy-test", "etcd-copy-test"):
        metrics.each(age_alerts.SUCCESS, "60x1000", schedule=schedule)
    metrics.each(age_alerts.SUSPENDED, "0x1000", schedule="mysqld-backup-copy")
    etcd = metrics.lines[-6:-3]  # of the last test of etcd's copies
    assert all("etcd-copy-test" in each["series"] for each in etcd)

    def named(last: int, minutes: str = "30m") -> dict[str, tuple[str, str]]:
        for line, at in zip(etcd, (last, last, last - 40 * DAY), strict=True):
            line["values"] = f"{max(at, 0) if last >= 0 else at}x1000"
        return raised(tool, stack, metrics, minutes, "backups")

    assert named(60) == named(-30 * DAY) == {}
    late = "etcd, etcd-copy-test: the last restored test of a copy in the object store is 31d 0h 11m 0s old"
    ((name, (severity, summary)),) = named(20 * 60 - 31 * DAY, "31m").items()
    assert (name, severity, summary) == ("BackupTestLate", "warning", f"{late}, one a month is expected")
    never = ("warning", "etcd, etcd-copy-test: no copy in the object store was restored yet")
    assert named(0, "9m") == {}
    assert named(0) == {"BackupTestLate": never}
    metrics.each(age_alerts.FAILURE, "120x1000", schedule="etcd-copy-test")
    assert named(0) == {"BackupTestLate": never} | {
        "BackupTestFailed": ("warning", "etcd, etcd-copy-test: a restored backup failed or had other content")
    }
    assert set(named(60)) == {"BackupTestFailed"}
    assert named(180) == {}


@pytest.mark.parametrize(("schedule", "gone"), [("mysqld-backup", 3), ("etcd-backup", 1), ("etcd-backup-test", 3)])
def test_a_schedule_that_nobody_tells_of_is_named(tool: ServiceMachine, schedule: str, gone: int) -> None:
    metrics = told()
    silent = [
        each
        for each in metrics.lines
        if f"{age_alerts.SUCCESS}{{" in each["series"] and f'"{schedule}"' in each["series"]
    ]
    metrics.lines = [each for each in metrics.lines if each not in silent[:gone]]
    assert backups(tool, metrics, "55m") == {}
    ((name, (_, summary)),) = backups(tool, metrics, "65m").items()
    assert name == "BackupUnknown"
    assert f", {schedule}: it does not exist" in summary


def certificate(left: int, metric: str, **labels: str) -> Metrics:
    """A certificate that ends so many seconds after 20 minutes, on one machine of three."""
    metrics = Metrics("node", MASTERS).each(metric, f"{400 * DAY}x1000", **labels)
    metrics.lines[3]["values"] = f"{left + 1200}x1000"
    return metrics


EXPIRED = {
    "CertificateExpired": ("critical", "10.0.0.1:9100: /etc/etcd/pki/peer.crt has expired or cannot be read"),
}


@pytest.mark.parametrize(
    ("left", "named"),
    [
        (31 * DAY, {}),
        (
            29 * DAY,
            {"CertificateExpires": ("warning", "10.0.0.1:9100: /etc/etcd/pki/peer.crt expires in 29d 0h 0m 0s")},
        ),
        (6 * DAY, {"CertificateExpires": ("critical", "10.0.0.1:9100: /etc/etcd/pki/peer.crt expires in 6d 0h 0m 0s")}),
        (15, {"CertificateExpires": ("critical", "10.0.0.1:9100: /etc/etcd/pki/peer.crt expires in 15s")}),
        (0, EXPIRED),
        (-HOUR, EXPIRED),
    ],
)
def test_a_certificate_of_a_machine_is_named_before_its_end(
    tool: ServiceMachine, left: int, named: dict[str, tuple[str, str]]
) -> None:
    metrics = certificate(left, age_alerts.CERTIFICATE, certificate="/etc/etcd/pki/peer.crt")
    assert raised(tool, rules(3), metrics, "20m", "certificates") == named


def test_a_certificate_of_the_entry_is_named_once(tool: ServiceMachine) -> None:
    said: dict[int, dict[str, tuple[str, str]]] = {}
    for days in (15, 13, 6, 0):
        metrics = certificate(days * DAY, age_alerts.ENTRY, secret="openstack-tls")  # noqa: S106 - its name
        said[days] = raised(tool, rules(3), metrics, "20m", "certificates")
    of = "the certificate in Secret openstack-tls"
    assert said == {
        15: {},
        13: {"EntryCertificateExpires": ("warning", f"{of} expires in 13d 0h 0m 0s")},
        6: {"EntryCertificateExpires": ("critical", f"{of} expires in 6d 0h 0m 0s")},
        0: {"EntryCertificateExpired": ("critical", f"{of} has expired or cannot be read")},
    }
