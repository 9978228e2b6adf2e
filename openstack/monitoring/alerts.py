"""Prometheus' alert rules: a lost quorum member, a lost majority, and states that can lead to such losses.

Numbers of members in the rules come from the plan. Recording rules are named `quorate:…`; alerts and dashboards use
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from openstack.config.wiring import Wiring
from openstack.monitoring import (
    age_alerts,
    agent_alerts,
    ceph_alerts,
    disk_alerts,
    limits,
    machine_alerts,
    opensearch_alerts,
)
from openstack.monitoring.quorums import WatchedQuorum, quorums
from openstack.monitoring.rules import Rule, alert

MEMBER = "quorate:member:counts"
"""Metric for each member of a quorum in the plan: 1 if the member takes part in the quorum, otherwise 0."""
MEMBERS = "quorate:quorum:members"
"""Metric for each quorum: the number of members that take part in the quorum now."""

NEAR_QUOTA = 0.8
"""Part of etcd's quota from which its database's size is an alert. Project figure."""
BEHIND = 5000
"""Entries with which etcd refuses writes (server/etcdserver/v3_server.go, maxGapBetweenApplyAndCommitIndex)."""
SLOWED = 0.3
"""Part of the time for which Galera's writers are paused, from which on it is an alert. Project figure."""
SLOW_SYNC = 0.1
"""Seconds that the slowest of 100 syncs of etcd's log may take. etcd recommends 0.01 (https://etcd.io/docs/v3.6/faq/),
and a member's heartbeat is 0.1 s: from there on, leaders are lost. Project figure."""
CLOCK = 2
"""Seconds by which a node's clock may differ from most. etcd warns from 1 s on, and a node that is busy takes up to a
second to answer. Project figure."""


class _Urgency(NamedTuple):
    after: str
    """How long an alert's condition must hold. Project figures: a planned restart of a member takes less than 2
    minutes."""
    severity: str


_CRITICAL, _WARNING = _Urgency("2m", "critical"), _Urgency("2m", "warning")
_SETTLED = _Urgency("1m", "critical")
"""For queries that members answer differently for a moment: a member that ends is unreachable before it is down."""
_STALLED = _Urgency("15s", "critical")
"""For what stops clients, and no planned change does: named within 60 s, also by a Prometheus that has just asked (15 s
until it asks again, 10 without an answer, 15 until it evaluates, and 15 here)."""
_NAMED = _Urgency("15s", "info")
"""For what a planned restart does too: it says who, within the same time, and is no reason to wake anybody."""


def document(wiring: Wiring, schedules: tuple[age_alerts.Schedule, ...]) -> Mapping[str, Any]:
    """Returns the content of Prometheus' file with recording and alert rules.

    `schedules`: the CronJobs that make backups of databases or test them.
    """
    watched = quorums(wiring)
    groups: list[Mapping[str, Any]] = [
        {"name": quorum.name, "rules": [*_records(quorum), *_losses(quorum), *_own(quorum)]} for quorum in watched
    ]
    groups += [ceph_alerts.group(_of(MEMBERS, each), each) for each in watched if each.kind == "ceph"]
    are_told = machine_alerts.are_told(wiring)
    nodes = [_target_down(watched), _name_servers(), _clock()]
    groups.append({"name": "nodes", "rules": nodes if are_told else [*nodes, _disk()]})
    groups.append({"name": "agents", "rules": list(agent_alerts.rules())})
    groups.append(disk_alerts.group())
    if are_told:
        groups.extend((*age_alerts.groups(wiring, schedules), machine_alerts.group(wiring)))
    return {"groups": groups}


def _records(quorum: WatchedQuorum) -> Iterator[Rule]:
    labels = {"quorum": quorum.name}
    # `up` exists for every target, so that a member that does not answer is 0 instead of absent.
    expression = f'max by (member) (({quorum.counts}) or 0 * up{{job="{quorum.name}"}})'
    yield {"record": MEMBER, "expr": expression, "labels": labels}
    yield {"record": MEMBERS, "expr": f"sum({_of(MEMBER, quorum)})", "labels": labels}


def _losses(quorum: WatchedQuorum) -> Iterator[Rule]:
    """Yields the alerts for lost members. A lost member is critical if one more loss would end the majority."""
    members, there, needed = _of(MEMBERS, quorum), quorum.size, quorum.majority
    lost = _listed(f"{_of(MEMBER, quorum)} == 0", "member")
    count = f"{{{{ $value }}}} of {there} members are left, {needed} are needed; lost: {lost}"
    if there - 1 > needed:
        spare = f"{members} > {needed} and {members} < {there}"
        yield _alert("QuorumMemberLost", spare, _WARNING, quorum, count)
    if there > needed:
        yield _alert("QuorumMemberSilent", f"{members} < {there}", _NAMED, quorum, count)
        yield _alert("QuorumMemberLost", f"{members} == {needed}", _CRITICAL, quorum, count)
    yield _alert("QuorumLost", f"{members} < {needed}", _STALLED, quorum, count)


def _listed(query: str, label: str) -> str:
    """Returns the template that lists the values of a label in the result of a query."""
    return f"{{{{ range query `{query}` | sortByLabel `{label}` }}}}{{{{ .Labels.{label} }}}} {{{{ end }}}}"


def _own(quorum: WatchedQuorum) -> Iterator[Rule]:
    if quorum.kind == "galera":
        yield from _galera(quorum)
    if quorum.kind == "rabbitmq":
        yield from _rabbitmq(quorum)
    if quorum.kind == "etcd":
        yield from _etcd(quorum)
    if quorum.kind == "opensearch":
        yield from opensearch_alerts.rules(quorum)


def _galera(quorum: WatchedQuorum) -> Iterator[Rule]:
    # 4 is Synced. ProxySQL sends no traffic to a member that stays in another state (source 004, 5.1.2).
    yield _alert(
        "GaleraMemberNotSynced",
        f'mysql_global_status_wsrep_local_state{{job="{quorum.name}"}} != 4',
        _Urgency("10m", "warning"),
        quorum,
        "{{ $labels.member }} has been in state {{ $value }} for 10 minutes, not in 4 (Synced): it gets no traffic",
    )
    # A member whose disk is slow leaves flow control and the traffic (scripts/galera/disk.py); a donor does not count.
    yield _alert(
        "GaleraMemberAside",
        f'mysql_global_status_wsrep_desync_count{{job="{quorum.name}"}} > 0',
        _Urgency("0s", "info"),  # the member itself has waited
        quorum,
        "{{ $labels.member }} stands aside: its disk is slow, or it was desynced by hand",
    )
    yield _alert(
        "GaleraSizeDiffers",
        f'mysql_global_status_wsrep_cluster_size{{job="{quorum.name}"}} != {quorum.size}',
        _WARNING,
        quorum,
        f"{{{{ $labels.member }}}} sees a cluster of {{{{ $value }}}}, the stack declares {quorum.size}",
    )

    # Members that were paused or cut off for a while may call themselves primary in a view that is over.
    primary = f'mysql_global_status_wsrep_cluster_status{{job="{quorum.name}"}} == 1'
    view = f'mysql_global_status_wsrep_cluster_conf_id{{job="{quorum.name}"}} and on (member) {primary}'
    yield _alert(
        "GaleraViewsDiffer",
        f'count(count_values("view", {view})) > 1',
        _SETTLED,
        quorum,
        "primary members are in {{ $value }} views of the cluster, expected one",
    )

    # The part of the time for which replication was paused, on every member: one that is slow pauses all writers.
    paused = f'rate(mysql_global_status_wsrep_flow_control_paused_ns{{job="{quorum.name}"}}[2m]) / 1e9'
    yield _alert(
        "GaleraPausesWriters",
        f"max({paused}) > {SLOWED}",
        _WARNING,
        quorum,
        "writers were paused for {{ $value | humanizePercentage }} of the last 2 minutes: a member is slow",
    )


def _rabbitmq(quorum: WatchedQuorum) -> Iterator[Rule]:
    job = f'job="{quorum.name}"'
    # A stopped member is unreachable too. There is a partition if more members are unreachable than are stopped.
    yield _alert(
        "RabbitmqPartitioned",
        f"max(rabbitmq_unreachable_cluster_peers_count{{{job}}}) > {quorum.size} - sum(up{{{job}}})",
        _SETTLED,
        quorum,
        "members run and do not reach each other",
    )
    yield _alert(
        "RabbitmqSeparateClusters",
        f"count(count by (rabbitmq_cluster_permanent_id) (rabbitmq_identity_info{{{job}}})) > 1",
        _SETTLED,
        quorum,
        "the members form {{ $value }} clusters, expected one",
    )
    # The alarm of one member stops publishers on all members (https://www.rabbitmq.com/docs/alarms).
    kinds = "memory_used_watermark|free_disk_space_watermark|file_descriptor_limit"
    yield _alert(
        "RabbitmqAlarm",
        f'max by (member) ({{__name__=~"rabbitmq_alarms_({kinds})", {job}}}) == 1',
        _STALLED,
        quorum,
        "{{ $labels.member }} has a resource alarm (memory, disk or file descriptors): publishers are blocked",
    )
    yield _versions_differ(quorum, "rabbitmq_build_info", "rabbitmq_version")


def _versions_differ(quorum: WatchedQuorum, metric: str, label: str) -> Rule:
    """Returns the alert for an upgrade that was not ended."""
    versions = f'count by ({label}) ({metric}{{job="{quorum.name}"}})'
    differ = "the members have {{ $value }} versions: " + _listed(versions, label)
    return _alert("VersionsDiffer", f"count({versions}) > 1", _Urgency("2h", "warning"), quorum, differ)


def _etcd(quorum: WatchedQuorum) -> Iterator[Rule]:
    job = f'job="{quorum.name}"'
    # Every member reports the alarms of all. With one, etcd refuses writes (https://etcd.io/docs/v3.6/op-guide/maintenance/).
    yield _alert(
        "EtcdAlarm",
        f"max by (alarm_type) (etcd_debugging_server_alarms{{{job}}}) > 0",
        _STALLED,
        quorum,
        "alarm {{ $labels.alarm_type }}: etcd refuses writes",
    )
    size, quota = f"etcd_mvcc_db_total_size_in_bytes{{{job}}}", f"etcd_server_quota_backend_bytes{{{job}}}"
    yield _alert(
        "EtcdDatabaseNearQuota",
        f"{size} / {quota} > {NEAR_QUOTA}",
        _Urgency("10m", "warning"),
        quorum,
        "the database of {{ $labels.member }} has {{ $value | humanizePercentage }} of its quota, which stops writes",
    )
    committed, applied = (f"etcd_server_proposals_{state}_total{{{job}}}" for state in ("committed", "applied"))
    yield _alert(
        "EtcdMemberBehind",
        f"{committed} - {applied} > {BEHIND}",
        _Urgency("1m", "critical"),
        quorum,
        "{{ $labels.member }} has not applied {{ $value }} entries that are committed: it refuses writes",
    )
    yield _versions_differ(quorum, "etcd_server_version", "server_version")
    # Each member tells whom it knows, learners too; 0 is one that was removed. A new member that takes the place of
    # another is there beside it for minutes.
    listed = f"count(count by (Remote) (etcd_network_known_peers{{{job}}} == 1))"
    yield _alert(
        "EtcdMembersDiffer",
        f"{listed} > {quorum.size}",
        _Urgency("15m", "warning"),
        quorum,
        f"its own list has {{{{ $value }}}} members, the stack {quorum.size}: quorate status names the others",
    )
    # A slow disk syncs seldom: beside the many syncs of a minute in which it was fast, its few would not be seen. The
    # shorter time is that between two scrapes.
    for name, over, urgency in (("EtcdSyncSlow", "30s", _NAMED), ("EtcdDiskSlow", "2m", _WARNING)):
        synced = f"rate(etcd_disk_wal_fsync_duration_seconds_bucket{{{job}}}[{over}])"
        yield _alert(
            name,
            f"histogram_quantile(0.99, sum by (member, le) ({synced})) > {SLOW_SYNC}",
            urgency,
            quorum,
            "{{ $labels.member }} takes {{ $value | humanizeDuration }} to sync its log",
        )


def _target_down(watched: tuple[WatchedQuorum, ...]) -> Rule:
    # A node whose disks are not told does not answer for its job `node` either.
    jobs = "|".join((*(quorum.name for quorum in watched), ceph_alerts.JOB, disk_alerts.JOB))
    silent = "{{ $labels.job }}: {{ $labels.instance }} has not answered for 5 minutes"
    return alert("TargetDown", f'up{{job!~"{jobs}"}} == 0', "5m", "warning", silent)


def _name_servers() -> Rule:
    """Returns the alert for name servers that do not answer Prometheus, which has those of all pods of its node.

    A name that does not exist is an answer. A lookup fails after all servers were silent for 2 s each.
    """
    lookups, failed = (
        f'sum by (member) (increase(prometheus_sd_dns_{count}_total{{job="prometheus"}}[30s]))'
        for count in ("lookups", "lookup_failures")
    )
    # All that ended between two scrapes: a packet can be lost.
    silent = f"{failed} == {lookups} and {failed} > 0"
    said = "{{ $labels.member }}: its name servers do not answer; members that it calls lost may only be without a name"
    return alert("NameServersSilent", silent, "0s", "critical", said)


def _disk() -> Rule:
    """Returns the alert for the disk with the cloud's data, the only one of its node that node-exporter sees."""
    data = '{mountpoint="/host/data"}'
    left = "{{ $labels.instance }}: {{ $value | humanizePercentage }} of the data's disk is left"
    part = f"node_filesystem_avail_bytes{data} / node_filesystem_size_bytes{data}"
    return alert("DiskAlmostFull", f"{part} < {(100 - limits.FULL) / 100}", "10m", "warning", left)


def _clock() -> Rule:
    # The time of a node less that of the Prometheus which asks, whose own clock may be wrong: compared with most nodes.
    apart = 'node_time_seconds{job="node"} - timestamp(node_time_seconds{job="node"})'
    differs = "{{ $labels.instance }}: its clock differs by {{ $value | humanizeDuration }} from most nodes'"
    expression = f"abs(({apart}) - scalar(quantile(0.5, {apart}))) > {CLOCK}"
    return alert("ClockDiffers", expression, "5m", "warning", differs)


def _alert(name: str, expression: str, urgency: _Urgency, quorum: WatchedQuorum, summary: str) -> Rule:
    said = f"{quorum.name}: {summary}"
    return alert(name, expression, urgency.after, urgency.severity, said, quorum=quorum.name)


def _of(record: str, quorum: WatchedQuorum) -> str:
    return f'{record}{{quorum="{quorum.name}"}}'
