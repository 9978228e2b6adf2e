"""What status says beside the quorums, as lines: alerts, replicas, agents, certificates, backups, disks and clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from console.progress import duration
from doctor.checks import CLOCK
from operations.living import certificates
from operations.living.backups import CopyTest, LivingBackup, RestoredTest, StoredCopy
from operations.living.cloud import ETCD, LivingCloud
from operations.living.firing import FiringAlert
from operations.living.replicas import UnreadyReplicas, services
from text.quoting import first_of, single_line

SERVICES = 12
"""Services that have a line each."""
REASONS, NODES = 2, 3
"""Reasons that the line of a service names, and nodes of each."""
LINE = 300
"""Characters of the line of a service."""
SHOWN = 40
"""Lines about alerts, and about disks and clocks. Project figure."""
ALIKE = 5
"""Lines about alerts with one name, so that a rack of silent agents hides no other. Project figure."""
SUMMARY = 200
"""Characters of an alert's summary. Project figure: the longest of the project's own rules has half of it."""


def alerts(cloud: LivingCloud) -> Iterator[str]:
    """Yields how many alerts fire, and below it each, but for those that repeat what a quorum's line says."""
    found = cloud.alerts
    if found.problem:
        yield f"NO PROMETHEUS ANSWERS, so that no alert is raised: {found.problem}"
    if not found.asked:
        return
    others = [each for each in found.firing if not each.repeats(cloud.quorums)]
    count = "1 alert fires" if len(found.firing) == 1 else f"{len(found.firing) or 'No'} alerts fire"
    repeat = len(found.firing) - len(others)
    above = f"; {repeat} of them say what a quorum above does" if repeat else ""
    yield f"{count}, as {found.asked} tells{above}."
    shown, more = _shown(others)
    yield from (f"          - {_alert(each)}" for each in shown)
    if more:
        counts = ", ".join(f"{number} {name}" for name, number in more.most_common())
        yield f"          - and more, which --json names: {counts}"
    if found.unsent:
        yield f"          - no Alertmanager takes the alerts of {', '.join(found.unsent)}, which reach no receiver"


def _shown(found: Sequence[FiringAlert]) -> tuple[list[FiringAlert], Counter[str]]:
    """Returns the alerts that have a line each, and the number of the others by name."""
    shown: list[FiringAlert] = []
    lines, more = Counter[str](), Counter[str]()
    for each in found:
        if lines[each.name] < ALIKE and len(shown) < SHOWN:
            lines[each.name] += 1
            shown.append(each)
        else:
            more[each.name] += 1
    return shown, more


def _alert(alert: FiringAlert) -> str:
    lasts = age(datetime.now(UTC) - alert.since)
    return f"{alert.severity or 'alert'} {alert.name} for {lasts}: {single_line(alert.summary, SUMMARY)}"


def lines(cloud: LivingCloud) -> Iterator[str]:
    """Yields what each part says in a sentence, and below it, indented with a dash, what lacks or will soon."""
    yield from _replicas(cloud)
    yield from _agents(cloud)
    yield from _certificates(cloud)
    yield from _backups(cloud)
    yield from _nodes(cloud)


def _replicas(cloud: LivingCloud) -> Iterator[str]:
    """Yields what serves without a vote and lacks replicas, by the readiness of its pods, with why they are not."""
    if cloud.problems:
        return
    found = list(services(cloud))
    # Those of which something is known first.
    lacking = sorted((each for each in found if each.ready < each.replicas), key=lambda each: not each.unready)
    yield f"Beside them, {len(found) - len(lacking)} of {len(found)} services have all replicas ready."
    for each in lacking[:SERVICES]:
        why = "; ".join(map(_unready, each.unready[:REASONS]))
        line = f"{each.name} {each.ready} of {each.replicas} replicas ready{': ' if why else ''}{why}"
        yield f"          - {single_line(line, LINE)}"
    if len(lacking) > SERVICES:
        yield f"          - and {len(lacking) - SERVICES} services more"


def _unready(found: UnreadyReplicas) -> str:
    where = f" on {first_of(found.nodes, NODES)}" if found.nodes else ""
    lasts = f" for {age(datetime.now(UTC) - found.since)}" if found.since else ""
    return f"{found.reason}{where}{lasts}"


def _agents(cloud: LivingCloud) -> Iterator[str]:
    """Yields the agents whose heartbeat is late, and the number of records that former pods or computes left."""
    found = cloud.agents
    if found.agents:
        silent = cloud.silent_agents
        sent = sum(not each.is_silent for each in found.agents)
        former = len(found.agents) - len(silent) - sent
        gone = f"; {former} silent records are of former pods or computes" if former else ""
        yield f"{sent} agents have sent their heartbeat, {len(silent)} have not{gone}."
        for each in silent:
            state = ", disabled" if each.is_disabled else ""
            yield f"          - {each.kind} on {each.host} is silent for {duration(each.age)}{state}"
    if found.ovn_asked is not None:
        asked = age(timedelta(seconds=found.ovn_asked))
        yield f"OVN's agents among them answer when Neutron's agents are listed, the last time {asked} ago."
    yield from (f"          - {each}" for each in found.unasked)


def _certificates(cloud: LivingCloud) -> Iterator[str]:
    """Yields the certificates that expire soon."""
    now = datetime.now(UTC)
    for each in certificates.expiring(cloud.certificates, now):
        days = each.left(now).days
        when = f"expires in {days} days" if days >= 0 else "HAS EXPIRED"
        yield f"          - {each.path} of {each.machine} {when} ({each.ends:%Y-%m-%d %H:%M} UTC)"


def _backups(cloud: LivingCloud) -> Iterator[str]:
    """Yields the ages of the newest backup of each database, of its test and its copy, and those that are late."""
    now, found = datetime.now(UTC), cloud.backups.found
    for what, ages in (
        ("Newest backups", [(each.of, each.newest) for each in found]),
        ("Last backups restored and compared", [(each.of, each.test.newest) for each in found if each.test]),
        ("Last copies to the object store", [(each.of, each.copy.newest) for each in found if each.copy]),
        ("Last copies restored and compared", [(each.of, each.newest) for each in cloud.backups.copy_tests]),
    ):
        newest: dict[str, datetime] = {}
        for of, made in ages:
            if made:
                newest[of] = max(made, newest.get(of, made))
        if newest:
            yield f"{what}: {', '.join(f'{of} {age(now - made)} ago' for of, made in newest.items())}."
    for each in found:
        if each.is_late(now):
            yield f"          - {each.of}, {each.maker}: {_lateness(each, now)}"
        if each.test and each.test.is_late(now):
            yield f"          - {each.of}, {each.test.maker}: {_untested(each.test, now)}"
        if each.copy and each.copy.is_late(now):
            yield f"          - {each.of}, {each.copy.maker}: {_uncopied(each.copy, now)}"
    for each in cloud.backups.copy_tests:
        if each.is_late(now):
            yield f"          - {each.of}, copies in the object store: {_copy_untested(each, now)}"
    yield from (f"          - {each}" for each in cloud.backups.unasked)


def _nodes(cloud: LivingCloud) -> Iterator[str]:
    """Yields the disks that fill and the clocks that differ, by the kubelets of the nodes."""
    stats = cloud.stats
    if stats.asked:
        yield f"{stats.asked} nodes were asked for their disks and clocks."
    lines = [f"{each.disk} on {each.node} is {each.used} % full" for each in stats.full]
    lines += [f"{node} has too little space: its kubelet evicts pods" for node in stats.evicting]
    lines += [f"the clock of {node} is {_apart(off)} those of most nodes" for node, off in stats.wrong().items()]
    if abs(stats.common) > CLOCK + 1:  # a date of the nodes has no fractions of seconds
        lines.append(f"the clock of this host is {_apart(-stats.common)} those of most nodes")
    if silent := stats.unasked:
        node = next(iter(silent))
        lines.append(f"{len(silent)} nodes were not asked for disks and clocks, such as {node}: {silent[node]}")
    yield from (f"          - {each}" for each in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"          - and {len(lines) - SHOWN} more, which --json names"


def _apart(seconds: float) -> str:
    return f"{duration(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'}"


def _lateness(backup: LivingBackup, now: datetime) -> str:
    made = f"the newest backup is {age(now - backup.newest)} old" if backup.newest else "there is no backup"
    return f"{made}; {backup.stopped or f'its schedule allows {age(backup.limit)}'}"


def _untested(test: RestoredTest, now: datetime) -> str:
    tested = f"the last backup was restored {age(now - test.newest)} ago" if test.newest else "none was restored"
    return f"{tested}; {test.problem or f'its schedule allows {age(test.limit)}'}"


def _uncopied(copy: StoredCopy, now: datetime) -> str:
    made = f"the last one to the object store is {age(now - copy.newest)} old" if copy.newest else "there is none"
    return f"{made}; {copy.problem or f'the schedule allows {age(copy.limit)}'}"


def _copy_untested(test: CopyTest, now: datetime) -> str:
    tested = f"the last one was restored {age(now - test.newest)} ago" if test.newest else "none was restored yet"
    name = test.of if test.of == ETCD else f"galera/{test.of}"
    return f"{tested}; {test.problem or f'`quorate copies --test {name}` restores the newest'}"


def age(time: timedelta) -> str:
    """Returns a time in its two largest units, such as `2 d 7 h`."""
    minutes = max(0, int(time.total_seconds() // 60))
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60:02d} min" if hours else f"{minutes} min"
