"""Alerts for disks that are slow or complete nothing, by the kernel's figures (/proc/diskstats).

A disk is measured by the requests that it completes in a second in which it is busy. The mean time of a request says
less: it grows with the queue, so that it is a second on a healthy hard disk to which many programs write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openstack.monitoring.rules import Rule, alert

JOB = "disks"
"""Name of the scrape job for the disks of nodes with data, which are asked more often than all nodes."""
COLLECTOR = "diskstats"
"""The collector of node-exporter that is asked. It leaves out partitions and loop devices."""
METRICS = (
    "node_disk_reads_completed_total",
    "node_disk_writes_completed_total",
    "node_disk_discards_completed_total",
    "node_disk_io_time_seconds_total",
)
"""Requests that the disk has completed, by kind, and the seconds in which it had at least one: while it completes none,
too (since Linux 5.18)."""
SLOWEST = 10
"""Requests that a disk must complete in a second in which it is busy: each takes 0.1 s if they come one by one, the
limit of alerts.SLOW_SYNC. etcd wants 50, those of a hard disk of 7,200 revolutions a minute
(https://etcd.io/docs/v3.6/op-guide/hardware/), and such a disk completes 15 of the largest requests: 4 MiB at 80 MB/s,
and a seek. Project figure."""
LEAST = 0.1
"""Part of the time for which a disk must be busy: the few requests of one that is idle say nothing. Project figure."""


def group() -> Mapping[str, Any]:
    """Returns the group of rules about disks."""
    return {"name": JOB, "rules": list(_rules())}


def _rules() -> Iterator[Rule]:
    said = (
        '{{ $labels.node }}: the disk {{ $labels.device }} completes {{ $value | printf "%.1f" }} requests in a second '
        "in which it is busy; on this node may be data of {{ $labels.services }}"
    )
    # `irate` is that between the last two scrapes, of which one may fail: beside the many requests of a minute in which
    # the disk was fast, its few would not be seen.
    for name, function, over, after, severity in (
        ("DiskSlow", "irate", "1m", "15s", "info"),
        ("DiskStaysSlow", "rate", "2m", "2m", "warning"),
    ):
        reads, writes, discards, busy = (f'{function}({metric}{{job="{JOB}"}}[{over}])' for metric in METRICS)
        slow = f"({reads} + {writes} + {discards}) / {busy} < {SLOWEST} and {busy} > {LEAST}"
        yield alert(name, slow, after, severity, said)
