"""Alerts for what grows old: backups, their restored tests and certificates.

Every node writes the times (components/machine_metrics), and node-exporter serves them. So machines that Quorate does
not set up, and machines of etcd that are no nodes, raise none of these alerts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from openstack.config.wiring import Wiring
from openstack.monitoring import limits
from openstack.monitoring.rules import Rule, alert

SUCCESS = "quorate_schedule_success_timestamp_seconds"
"""When the last backup or test that succeeded was made; without one, since when it has been due."""
FAILURE = "quorate_schedule_failure_timestamp_seconds"
"""When a test failed last."""
SUSPENDED = "quorate_schedule_suspended"
"""Whether a CronJob is suspended: 1 or 0."""
CERTIFICATE = "quorate_certificate_expiry_timestamp_seconds"
"""When a certificate in a file of a machine ends; 0 if it cannot be read."""
ENTRY = "quorate_secret_certificate_expiry_timestamp_seconds"
"""The same for a Secret of type kubernetes.io/tls, as every master tells it."""


Kind = Literal["backup", "copy", "test", "copy-test"]
_LAST: Mapping[Kind, str] = {
    "backup": "the newest backup",
    "copy": "the last copy to the object store",
    "test": "the last restored test",
    "copy-test": "the last restored test of a copy in the object store",
}


class Schedule(NamedTuple):
    """What makes backups of a database, tests them or copies them.

    That is a CronJob, or a timer of the machines of etcd. Whoever has the key of copies tests those, by hand or by a
    schedule that the cloud does not know.
    """

    name: str
    """Name of the CronJob or the timer; of tests of copies, the database's with `-copy-test`."""
    of: str
    """The database's quorum, such as mysqld."""
    limit: timedelta
    """Age of the last success from which it is late."""
    kind: Kind = "backup"
    """Whether it makes backups, puts them into an object store, or restores them from where they were made or there."""

    @property
    def tests(self) -> bool:
        """Whether it restores what others have made."""
        return self.kind in ("test", "copy-test")


class _Source(NamedTuple):
    """A schedule whose times are metrics, with the labels of its alerts."""

    schedule: Schedule
    by_machine: bool
    """Whether each machine has one of its own; otherwise every master tells of the same one."""
    tellers: int
    """Least number of machines that must tell of it."""

    def of(self, metric: str) -> str:
        found = f'{metric}{{schedule="{self.schedule.name}"}}'
        return found if self.by_machine else f"max by (schedule) ({found})"

    def alert(self, name: str, expression: str, after: str, summary: str) -> Rule:
        place = " on {{ $labels.instance }}" if self.by_machine else ""
        said = f"{self.schedule.of}{place}, {self.schedule.name}: {summary}"
        return alert(name, expression, after, "warning", said, schedule=self.schedule.name)


def groups(wiring: Wiring, schedules: tuple[Schedule, ...]) -> Iterator[Mapping[str, Any]]:
    """Yields the groups of rules about backups and certificates. `schedules`: the CronJobs of backups and tests."""
    members = sum(name in wiring.addresses for name in wiring.etcd_members)  # without machines that are no nodes
    etcd = [
        Schedule("etcd-backup", "etcd", limits.ETCD_BACKUP),
        Schedule("etcd-backup-test", "etcd", limits.ETCD_TEST, "test"),
    ]
    if wiring.copies:
        etcd.append(Schedule("etcd-backup-copy", "etcd", limits.ETCD_COPY, "copy"))
    sources = [_Source(each, True, members) for each in etcd if members]
    of_copies = (Schedule(copy_test(each), each, limits.COPY_TEST, "copy-test") for each in wiring.copied)
    sources += [_Source(each, False, 1) for each in (*schedules, *of_copies)]
    yield {"name": "backups", "rules": [rule for each in sources for rule in _backup(each)]}
    yield {"name": "certificates", "rules": list(_certificates())}


def copy_test(database: str) -> str:
    """Returns the name by which masters tell of the tests of a database's copies in the object store."""
    return f"{database}-copy-test"


def _backup(source: _Source) -> Iterator[Rule]:
    schedule, success = source.schedule, source.of(SUCCESS)
    late = "BackupTestLate" if schedule.tests else "BackupLate"
    seconds = int(schedule.limit.total_seconds())
    said = f"{_LAST[schedule.kind]} is {{{{ $value | humanizeDuration }}}} old"
    if schedule.kind == "copy-test":
        yield source.alert(late, f"{success} == 0", "10m", "no copy in the object store was restored yet")
        yield source.alert(late, f"time() - ({success} != 0) > {seconds}", "10m", f"{said}, one a month is expected")
    else:
        allowed = f"its schedule allows {seconds // 3600} h"
        yield source.alert(late, f"time() - {success} > {seconds}", "10m", f"{said}, {allowed}")
    if schedule.tests:
        failed = f"{source.of(FAILURE)} > {success}"
        yield source.alert("BackupTestFailed", failed, "0s", "a restored backup failed or had other content")
    if not source.by_machine and schedule.kind != "copy-test":
        yield source.alert("BackupSuspended", f"{source.of(SUSPENDED)} == 1", "1h", "the CronJob is suspended")
    told = f'{SUCCESS}{{schedule="{schedule.name}"}}'
    missing = f"absent({told}) or count({told}) < {source.tellers}"
    said = f"{schedule.of}, {schedule.name}: it does not exist, or a master does not tell when it last succeeded"
    yield alert("BackupUnknown", missing, "1h", "warning", said, schedule=schedule.name)


def _certificates() -> Iterator[Rule]:
    for prefix, left, since, subject in (
        ("", f"{CERTIFICATE} - time()", limits.CERTIFICATE, "{{ $labels.instance }}: {{ $labels.certificate }}"),
        (
            "Entry",
            f"min by (secret) ({ENTRY}) - time()",
            limits.ENTRY,
            "the certificate in Secret {{ $labels.secret }}",
        ),
    ):
        ends = f"{subject} expires in {{{{ $value | humanizeDuration }}}}"
        warned, soon = int(since.total_seconds()), int(limits.SOON.total_seconds())
        name = f"{prefix}CertificateExpires"
        yield alert(name, f"({left} < {warned}) >= {soon}", "10m", "warning", ends)
        yield alert(name, f"({left} < {soon}) > 0", "10m", "critical", ends)
        over = f"{subject} has expired or cannot be read"
        # The end is known before it comes, so that nothing has to be waited for.
        yield alert(f"{prefix}CertificateExpired", f"{left} <= 0", "0s", "critical", over)
