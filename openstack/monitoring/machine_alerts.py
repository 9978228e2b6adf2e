"""Alerts for what machines tell: disks, replicas of services, Ceph's health, and files that are not written.

Every node writes the files (components/machine_metrics), and node-exporter serves them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from openstack.config.wiring import Wiring
from openstack.monitoring import limits
from openstack.monitoring.rules import Rule, alert

DISK = "quorate_disk_available_ratio"
"""Part of a file system that is available, by the directory where it is mounted."""
REPLICAS, READY = "quorate_workload_replicas", "quorate_workload_ready_replicas"
"""Replicas that a Deployment or StatefulSet should have, and those that are ready, as every master tells them."""
CEPH_CHECK, CEPH_ANSWERS = "quorate_ceph_check", "quorate_ceph_answers"
"""A health check of Ceph that fails, 1 for a warning and 2 for an error; and whether a monitor answers."""
WRITTEN = 'node_textfile_mtime_seconds{job="node"}'
SILENT = timedelta(hours=2)
"""Age of a machine's file from which its timer does not work. It writes one every 5 minutes. Project figure."""


def are_told(wiring: Wiring) -> bool:
    """Whether nodes write such files: Quorate sets up their machines, and node-exporter serves the files."""
    return wiring.sets_up_machines and wiring.has("node-exporter")


def group(wiring: Wiring) -> Mapping[str, Any]:
    """Returns the group of rules about machines."""
    members = "|".join((*wiring.galeras, *wiring.brokers))
    storage = _ceph() if wiring.has("ceph-mon") else ()
    return {"name": "machines", "rules": [_disk(), *_replicas(members), *storage, *_silence()]}


def _disk() -> Rule:
    left = "{{ $labels.instance }}: {{ $value | humanizePercentage }} of the disk at {{ $labels.mountpoint }} is left"
    return alert("DiskAlmostFull", f"{DISK} < {(100 - limits.FULL) / 100}", "10m", "warning", left)


def _replicas(members: str) -> Iterator[Rule]:
    """Yields the alerts for services. `members`: pattern of the quorums that have alerts of their own."""
    wanted, ready = (f'max by (workload) ({each}{{workload!~"{members}"}})' for each in (REPLICAS, READY))
    lacking = f"({wanted} - {ready} > 0) and {ready} > 0"
    yield alert(
        "ServiceLacksReplicas", lacking, "30m", "warning", "{{ $labels.workload }}: {{ $value }} replicas are not ready"
    )
    yield alert(
        "ServiceDown", f"{ready} == 0 and {wanted} > 0", "5m", "critical", "{{ $labels.workload }}: no replica is ready"
    )


def _ceph() -> Iterator[Rule]:
    """Yields the alerts for Ceph's own health checks (https://docs.ceph.com/en/latest/rados/operations/health-checks/)."""
    worst = f"max by (check) ({CEPH_CHECK})"
    fails = "Ceph: {{ $labels.check }}"
    yield alert("CephWarns", f"{worst} == 1", "15m", "warning", fails)
    yield alert("CephFails", f"{worst} == 2", "1m", "critical", fails)
    silent = "no monitor of Ceph answers: they may have lost their majority"
    yield alert("CephSilent", f"max({CEPH_ANSWERS}) == 0", "1m", "critical", silent)


def _silence() -> Iterator[Rule]:
    old = "{{ $labels.instance }}: {{ $labels.file }} was written {{ $value | humanizeDuration }} ago"
    yield alert("MachineMetricsOld", f"time() - {WRITTEN} > {int(SILENT.total_seconds())}", "10m", "warning", old)
    none = '(up{job="node"} == 1 unless on (instance) ' + WRITTEN + ') or node_textfile_scrape_error{job="node"} == 1'
    lacks = "{{ $labels.instance }}: no file in /var/lib/quorate/metrics, or one that cannot be read"
    yield alert("MachineMetricsMissing", none, "1h", "warning", lacks)
