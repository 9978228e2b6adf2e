"""Prometheus' alert rules: a lost quorum member, a lost majority, and states that can lead to such losses.

Numbers of members in the rules come from the plan. Recording rules are named `quorate:…`; alerts and dashboards use
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from openstack.config.wiring import Wiring
from openstack.monitoring.quorums import WatchedQuorum, quorums

MEMBER = "quorate:member:counts"
"""Metric for each member of a quorum in the plan: 1 if the member takes part in the quorum, otherwise 0."""
MEMBERS = "quorate:quorum:members"
"""Metric for each quorum: the number of members that take part in the quorum now."""

Rule = Mapping[str, Any]


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


def document(wiring: Wiring) -> Mapping[str, Any]:
    """Returns the content of Prometheus' file with recording and alert rules."""
    watched = quorums(wiring)
    groups = [
        {"name": quorum.name, "rules": [*_records(quorum), *_losses(quorum), *_own(quorum)]} for quorum in watched
    ]
    groups.append({"name": "nodes", "rules": [_target_down(watched), _disk()]})
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
    lost = f"query `{_of(MEMBER, quorum)} == 0` | sortByLabel `member`"
    missing = f"{{{{ range {lost} }}}}{{{{ .Labels.member }}}} {{{{ end }}}}"
    count = f"{{{{ $value }}}} of {there} members are left, {needed} are needed; lost: {missing}"
    if there - 1 > needed:
        spare = f"{members} > {needed} and {members} < {there}"
        yield _alert("QuorumMemberLost", spare, _WARNING, quorum, count)
    if there > needed:
        yield _alert("QuorumMemberSilent", f"{members} < {there}", _NAMED, quorum, count)
        yield _alert("QuorumMemberLost", f"{members} == {needed}", _CRITICAL, quorum, count)
    yield _alert("QuorumLost", f"{members} < {needed}", _STALLED, quorum, count)


def _own(quorum: WatchedQuorum) -> Iterator[Rule]:
    if quorum.kind == "galera":
        yield from _galera(quorum)
    if quorum.kind == "rabbitmq":
        yield from _rabbitmq(quorum)


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


def _target_down(watched: tuple[WatchedQuorum, ...]) -> Rule:
    jobs = "|".join(quorum.name for quorum in watched)
    return {
        "alert": "TargetDown",
        "expr": f'up{{job!~"{jobs}"}} == 0',
        "for": "5m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "{{ $labels.job }}: {{ $labels.instance }} has not answered for 5 minutes"},
    }


def _disk() -> Rule:
    data = '{mountpoint="/host/data"}'
    return {
        "alert": "DiskAlmostFull",
        "expr": f"node_filesystem_avail_bytes{data} / node_filesystem_size_bytes{data} < 0.1",
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "{{ $labels.instance }}: {{ $value | humanizePercentage }} of the data's disk is left"
        },
    }


def _alert(name: str, expression: str, urgency: _Urgency, quorum: WatchedQuorum, summary: str) -> Rule:
    return {
        "alert": name,
        "expr": expression,
        "for": urgency.after,
        "labels": {"severity": urgency.severity, "quorum": quorum.name},
        "annotations": {"summary": f"{quorum.name}: {summary}"},
    }


def _of(record: str, quorum: WatchedQuorum) -> str:
    return f'{record}{{quorum="{quorum.name}"}}'
