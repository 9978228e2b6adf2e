"""Alerts for what machines tell: disks, replicas of services, what quorums say, and files that are not written.

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
CONDITION = "quorate_node_condition"
"""1 for a condition of a node that is as it should not be, such as NotReady or DiskPressure."""
QUEUES, BROKER_ANSWERS = "quorate_rabbitmq_queues", "quorate_rabbitmq_answers"
"""Number of a RabbitMQ cluster's replicated queues, quorum queues and streams: `all`, those without a majority of their
replicas (`lost`), and those that lack one that runs (`reduced`); and whether a member with a majority of the others
could count them."""
WRITTEN = 'node_textfile_mtime_seconds{job="node"}'
SILENT = timedelta(hours=2)
"""Age of a machine's file from which its timer does not work. It writes one every 5 minutes. Project figure."""


def are_told(wiring: Wiring) -> bool:
    """Whether nodes write such files: Quorate sets up their machines, and node-exporter serves the files."""
    return wiring.sets_up_machines and wiring.has("node-exporter")


def group(wiring: Wiring) -> Mapping[str, Any]:
    """Returns the group of rules about machines."""
    return {"name": "machines", "rules": list(_rules(wiring))}


def _rules(wiring: Wiring) -> Iterator[Rule]:
    yield _disk()
    yield from _replicas("|".join((*wiring.galeras, *wiring.brokers)))
    yield _nodes()
    if any(map(wiring.has, wiring.brokers)):
        yield from _queues()
    yield from _silence()


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


def _nodes() -> Rule:
    """Returns the alert for nodes that Kubernetes calls not Ready, or whose kubelet evicts pods."""
    said = "{{ $labels.node }} has the condition {{ $labels.condition }}"
    return alert("NodeCondition", f"max by (node, condition) ({CONDITION}) == 1", "5m", "warning", said)


def _queues() -> Iterator[Rule]:
    """Yields the alerts for RabbitMQ's replicated queues, which have majorities of their own.

    A quorum queue has replicas on three members. If two of five members are lost, it may have one of three.
    """
    lost, reduced = (f'max by (cluster) ({QUEUES}{{kind="{kind}"}}) > 0' for kind in ("lost", "reduced"))
    said = "{{ $labels.cluster }}: {{ $value }} replicated queues "
    yield alert("RabbitmqQueuesLost", lost, "1m", "critical", said + "have no majority of their replicas")
    # A member that restarts is named by QuorumMemberLost; its replicas are behind for a while.
    yield alert("RabbitmqQueuesReduced", reduced, "15m", "warning", said + "lack a replica that runs")
    uncounted = "{{ $labels.cluster }}: no member with a majority of the others could count its replicated queues"
    yield alert("RabbitmqQueuesUnknown", f"max by (cluster) ({BROKER_ANSWERS}) == 0", "15m", "warning", uncounted)


def _silence() -> Iterator[Rule]:
    old = "{{ $labels.instance }}: {{ $labels.file }} was written {{ $value | humanizeDuration }} ago"
    yield alert("MachineMetricsOld", f"time() - {WRITTEN} > {int(SILENT.total_seconds())}", "10m", "warning", old)
    none = '(up{job="node"} == 1 unless on (instance) ' + WRITTEN + ') or node_textfile_scrape_error{job="node"} == 1'
    lacks = "{{ $labels.instance }}: no file in /var/lib/quorate/metrics, or one that cannot be read"
    yield alert("MachineMetricsMissing", none, "1h", "warning", lacks)
