"""The living state as text for a terminal, and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from console.progress import duration
from doctor.checks import CLOCK
from operations.living import certificates
from operations.living.backups import LivingBackup
from operations.living.cloud import LivingCloud, is_ready, workload_of
from operations.living.leaving import Leave, in_order
from operations.living.quorum import LivingMember, LivingQuorum, Standing, different_versions
from operations.under_way import NO_OPERATION, UnderWay
from text.quoting import first_of

VERSION = 1
NAMED = 12
"""Servers that a line names, and services that have a line each."""
SHOWN = 40
"""Lines about disks and clocks. Project figure."""
_WORDS: dict[Standing, str] = {"whole": "whole", "reduced": "REDUCED", "lost": "LOST", "unknown": "NOT ASKED"}
_CODES: dict[Standing, int] = {"whole": 0, "reduced": 3, "lost": 1, "unknown": 1}


def exit_code(cloud: LivingCloud) -> int:
    """Returns 0 if every quorum is whole, 3 if one has lost a member, 1 if one is lost or was not asked."""
    codes = {_CODES[quorum.standing] for quorum in cloud.quorums}
    return 1 if 1 in codes or cloud.problems else max(codes, default=1)


def shown(cloud: LivingCloud, found: Sequence[Leave], operation: UnderWay = NO_OPERATION) -> str:
    """Returns the state of all quorums, of what serves beside them, and which servers may go, as lines of text."""
    lines = [
        *cloud.problems,
        *operation.lines(),
        *_quorums(cloud),
        *_replicas(cloud),
        *_agents(cloud),
        *_certificates(cloud),
        *_backups(cloud),
        *_nodes(cloud),
        "",
        *_servers(found),
    ]
    return "\n".join(lines) + "\n"


def _quorums(cloud: LivingCloud) -> Iterator[str]:
    width = max((len(quorum.name) for quorum in cloud.quorums), default=0)
    for quorum in cloud.quorums:
        count = f"{quorum.counting} of {len(quorum.voters)} members"
        rest = "".join(f", {each}" for each in quorum.figures)
        yield f"{_WORDS[quorum.standing]:<9} {quorum.name:<{width}}  {count}{rest}"
        for member in quorum.members:
            yield f"            {_member(cloud, quorum, member)}"
        if versions := different_versions(quorum):
            yield f"          ! its members have different versions: {', '.join(versions)}"
        yield from (f"          ! {trouble}" for trouble in quorum.troubles)
        yield from (f"          - {note}" for note in quorum.notes)


def _member(cloud: LivingCloud, quorum: LivingQuorum, member: LivingMember) -> str:
    node = cloud.places.get((quorum.name, member.name), "")
    server = next((each.server for each in cloud.plan.machines if each.name == node), "")
    where = f" on {node}" if node and node != member.name else ""
    where += f" ({server})" if server and server != node else ""
    state = member.says if member.counts else f"NOT COUNTED: {member.says}"
    return f"{member.name}{where}: {'; '.join((state, *member.troubles))}"


def _replicas(cloud: LivingCloud) -> Iterator[str]:
    """Yields what serves without a vote and lacks replicas, by the readiness of its pods."""
    if cloud.problems:
        return
    found = list(replicas(cloud))
    lacking = [f"{name} {ready} of {wanted}" for name, ready, wanted in found if ready < wanted]
    yield f"Beside them, {len(found) - len(lacking)} of {len(found)} services have all replicas ready."
    yield from (f"          - {each} replicas ready" for each in lacking[:NAMED])
    if len(lacking) > NAMED:
        yield f"          - and {len(lacking) - NAMED} services more"


def _agents(cloud: LivingCloud) -> Iterator[str]:
    """Yields the agents whose heartbeat is late. Records of hosts that are no node are of former pods or computes."""
    found = cloud.agents
    nodes = [node.name for node in cloud.plan.nodes]
    if found.agents:
        silent, forgotten = found.silent(nodes), found.forgotten(nodes)
        gone = f"; {forgotten} silent records are of hosts that the stack has not" if forgotten else ""
        sent = len(found.agents) - len(silent) - forgotten
        yield f"{sent} agents have sent their heartbeat, {len(silent)} have not{gone}."
        for each in silent:
            state = ", disabled" if each.is_disabled else ""
            yield f"          - {each.kind} on {each.host} is silent for {duration(each.age)}{state}"
    yield from (f"          - {each}" for each in found.unasked)


def _certificates(cloud: LivingCloud) -> Iterator[str]:
    """Yields the certificates that expire soon."""
    now = datetime.now(UTC)
    for each in certificates.expiring(cloud.certificates, now):
        days = each.left(now).days
        when = f"expires in {days} days" if days >= 0 else "HAS EXPIRED"
        yield f"          - {each.path} of {each.machine} {when} ({each.ends:%Y-%m-%d %H:%M} UTC)"


def _backups(cloud: LivingCloud) -> Iterator[str]:
    """Yields the age of the newest backup of each database, and those that are older than their schedule allows."""
    now = datetime.now(UTC)
    newest: dict[str, datetime] = {}
    for each in cloud.backups.found:
        if each.newest:
            newest[each.of] = max(each.newest, newest.get(each.of, each.newest))
    if newest:
        yield f"Newest backups: {', '.join(f'{of} {_age(now - made)} ago' for of, made in newest.items())}."
    for each in cloud.backups.found:
        if each.is_late(now):
            yield f"          - {each.of}, {each.maker}: {_lateness(each, now)}"
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
    made = f"the newest backup is {_age(now - backup.newest)} old" if backup.newest else "there is no backup"
    return f"{made}; {backup.stopped or f'its schedule allows {_age(backup.limit)}'}"


def _age(time: timedelta) -> str:
    """Returns a time in its two largest units, such as `2 d 7 h`."""
    minutes = max(0, int(time.total_seconds() // 60))
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60:02d} min" if hours else f"{minutes} min"


def replicas(cloud: LivingCloud) -> Iterator[tuple[str, int, int]]:
    """Yields the services whose replicas do not vote: name, replicas that are ready, and replicas in the plan."""
    ready = Counter(workload_of(pod) for pod in cloud.pods if is_ready(pod))
    quorums = {quorum.name for quorum in cloud.quorums}
    for name, service in cloud.plan.workloads:
        if name not in quorums and service.instances:
            yield name, ready[name], service.instances


def _servers(found: Sequence[Leave]) -> Iterator[str]:
    going = in_order(found)
    stays = [each for each in found if not each.may_go]
    with_members = [each for each in going if each.members]
    others = [each.server for each in going if not each.members]
    yield f"{len(going)} of {len(found)} servers may go, one after the other, each whole again before the next:"
    if others:
        yield f"  {first_of(others, NAMED)}: without a member of a quorum"
    for each in with_members:
        names = ", ".join(member for _, member in each.members)
        yield f"  {each.server}: {'; '.join((names, *each.effects))}"
    if stays:
        yield "These may not go:"
    yield from (f"  {each.server}: {'; '.join(each.reasons)}" for each in stays)


def document(cloud: LivingCloud, found: Sequence[Leave], operation: UnderWay = NO_OPERATION) -> dict[str, Any]:
    """Returns the state as a document of JSON."""
    return {
        "version": VERSION,
        "exit": exit_code(cloud),
        "problems": list(cloud.problems),
        "operation": operation.document(),
        "quorums": [
            {
                **asdict(quorum),
                "standing": quorum.standing,
                "counting": quorum.counting,
                "needed": quorum.needed,
                "members": [
                    {**asdict(member), "node": cloud.places.get((quorum.name, member.name))}
                    for member in quorum.members
                ],
            }
            for quorum in cloud.quorums
        ],
        "services": [{"name": name, "ready": ready, "replicas": wanted} for name, ready, wanted in replicas(cloud)],
        "agents": [{**asdict(each), "silent": each.is_silent} for each in cloud.agents.agents],
        "instances": cloud.agents.instances,
        "unasked": [
            *cloud.agents.unasked,
            *cloud.backups.unasked,
            *([operation.problem] if operation.problem else []),
        ],
        "certificates": [{**asdict(each), "ends": each.ends.isoformat()} for each in cloud.certificates],
        "nodes": {
            "asked": cloud.stats.asked,
            "full": [asdict(each) for each in cloud.stats.full],
            "evicting": list(cloud.stats.evicting),
            "clocks": cloud.stats.wrong(),
            "unasked": dict(cloud.stats.unasked),
        },
        "backups": [_backup(each) for each in cloud.backups.found],
        "servers": [
            {**asdict(each), "members": [list(pair) for pair in each.members], "may_go": each.may_go} for each in found
        ],
        "order": [each.server for each in in_order(found)],
    }


def _backup(found: LivingBackup) -> dict[str, Any]:
    newest = found.newest.isoformat() if found.newest else None
    late = found.is_late(datetime.now(UTC))
    return {"of": found.of, "maker": found.maker, "newest": newest, "limit": found.limit.total_seconds(), "late": late}
