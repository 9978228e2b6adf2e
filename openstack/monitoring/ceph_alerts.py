"""Alerts for Ceph's OSDs and health checks, as its active manager tells them. Monitors are a quorum among the others.

The manager's module `prometheus` serves the metrics (https://docs.ceph.com/en/latest/mgr/prometheus/), uncached:
without a majority of the monitors it serves none (openstack/scripts/ceph_mgr.sh).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openstack.monitoring.quorums import WatchedQuorum
from openstack.monitoring.rules import Rule, alert

JOB = "ceph"
"""Name of the scrape job for the managers."""
CHECK = "ceph_health_detail"
"""1 for a health check that fails, by `name` and `severity`; 0 for one that failed before."""
HEALTH = "ceph_health_status"
UP, IN = "ceph_osd_up", "ceph_osd_in"
"""Whether an OSD runs, and whether it should have data. One that is down is out after 10 minutes, Ceph's default."""
SLOW = "ceph_daemon_health_metrics"
"""What a monitor or OSD says of itself, by `type`: for SLOW_OPS, how many of its requests last for more than 30 s,
Ceph's default (osd_op_complaint_time, mon_op_complaint_time)."""
MONITOR_DOWN = "MON_DOWN"
"""The health check that says what the alerts for quorums say."""


def group(members: str, monitors: WatchedQuorum) -> Mapping[str, Any]:
    """Returns the group of rules about Ceph. `members`: query for the number of monitors in the quorum."""
    return {"name": JOB, "rules": list(_rules(members, monitors))}


def _rules(members: str, monitors: WatchedQuorum) -> Iterator[Rule]:
    of = f'job="{JOB}"'
    down = f"max by (ceph_daemon) ({UP}{{{of}}}) == 0 and max by (ceph_daemon) ({IN}{{{of}}}) == 1"
    # Ceph itself has waited for 20 s before it calls an OSD down that no longer answers.
    yield alert("CephOsdDown", down, "0s", "info", "Ceph: {{ $labels.ceph_daemon }} is down")
    slow = f'max by (ceph_daemon) ({SLOW}{{{of}, type="SLOW_OPS"}}) > 0'
    said = "Ceph: {{ $labels.ceph_daemon }} has {{ $value }} requests that last for more than 30 s"
    yield alert("CephRequestsSlow", slow, "0s", "info", said)
    for name, severity, other, after, level in (
        ("CephWarns", "HEALTH_WARN", f', name!="{MONITOR_DOWN}"', "15m", "warning"),
        ("CephFails", "HEALTH_ERR", "", "15s", "critical"),
    ):
        fails = f'max by (name) ({CHECK}{{{of}, severity="{severity}"{other}}}) == 1'
        yield alert(name, fails, after, level, "Ceph: {{ $labels.name }}")
    # A manager takes the place of a lost one after 30 s, Ceph's default. Monitors without a majority are QuorumLost.
    silent = f"absent({HEALTH}{{{of}}}) and on () {members} >= {monitors.majority}"
    summary = "Ceph: no manager tells about OSDs and health, and the monitors have a majority"
    yield alert("CephSilent", silent, "3m", "warning", summary)
