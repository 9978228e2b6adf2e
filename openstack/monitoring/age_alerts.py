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


_LAST = {
    "backup": "the newest backup",
    "copy": "the last copy to the object store",
    "test": "the last restored test",
}


class Schedule(NamedTuple):
    """What makes backups of a database, tests them or copies them: a CronJob, or a timer of the machines of etcd."""

    name: str
    """Name of the CronJob or the timer."""
    of: str
    """The database's quorum, such as mysqld."""
    limit: timedelta
    """Age of the last success from which it is late."""
    kind: Literal["backup", "copy", "test"] = "backup"
    """Whether it makes backups, puts them into an object store, or restores them."""


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
    sources += [_Source(each, False, 1) for each in schedules]
    yield {"name": "backups", "rules": [rule for each in sources for rule in _backup(each)]}
    yield {"name": "certificates", "rules": list(_certificates())}


def _backup(source: _Source) -> Iterator[Rule]:
    schedule, success = source.schedule, source.of(SUCCESS)
    seconds = int(schedule.limit.total_seconds())
    allowed = f"its schedule allows {seconds // 3600} h"
    yield source.alert(
        "BackupTestLate" if schedule.kind == "test" else "BackupLate",
        f"time() - {success} > {seconds}",
        "10m",
        f"{_LAST[schedule.kind]} is {{{{ $value | humanizeDuration }}}} old, {allowed}",
    )
    if schedule.kind == "test":
        failed = f"{source.of(FAILURE)} > {success}"
        yield source.alert("BackupTestFailed", failed, "0s", "a restored backup failed or had other content")
    if not source.by_machine:
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
        yield alert(f"{prefix}CertificateExpired", f"{left} <= 0", "1m", "critical", over)
