"""The living state as text for a terminal, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from operations.living import beside_quorums
from operations.living.backups import LivingBackup
from operations.living.cloud import LivingCloud
from operations.living.leaving import Leave, in_order
from operations.living.quorum import LivingMember, LivingQuorum, Standing, different_versions
from operations.living.replicas import services
from operations.under_way import NO_OPERATION, UnderWay
from text.quoting import first_of

VERSION = 1
NAMED = 12
"""Servers that a line names."""
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
        *beside_quorums.alerts(cloud),
        *beside_quorums.lines(cloud),
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
    silent = cloud.silent_agents
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
        "alerts": {
            "asked": cloud.alerts.asked,
            "firing": [{**asdict(each), "since": each.since.isoformat()} for each in cloud.alerts.firing],
            "unsent": list(cloud.alerts.unsent),
        },
        "services": [
            {
                "name": each.name,
                "ready": each.ready,
                "replicas": each.replicas,
                "unready": [{**asdict(lack), "since": lack.since and lack.since.isoformat()} for lack in each.unready],
            }
            for each in services(cloud)
        ],
        "agents": [{**asdict(each), "silent": each in silent} for each in cloud.agents.agents],
        "ovn_asked": cloud.agents.ovn_asked,
        "instances": cloud.agents.instances,
        "unasked": [
            *cloud.agents.unasked,
            *cloud.backups.unasked,
            *filter(None, (operation.problem, cloud.alerts.problem)),
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
        "restored_copies": [
            {"of": each.of, "copy": each.maker, **_dated(each.newest, each.limit, late=each.is_late(datetime.now(UTC)))}
            for each in cloud.backups.copy_tests
        ],
        "servers": [
            {**asdict(each), "members": [list(pair) for pair in each.members], "may_go": each.may_go} for each in found
        ],
        "order": [each.server for each in in_order(found)],
    }


def _backup(found: LivingBackup) -> dict[str, Any]:
    now, test, copy = datetime.now(UTC), found.test, found.copy
    tested = test and {"maker": test.maker, **_dated(test.newest, test.limit, late=test.is_late(now))}
    copied = copy and {"maker": copy.maker, **_dated(copy.newest, copy.limit, late=copy.is_late(now))}
    return {
        "of": found.of,
        "maker": found.maker,
        **_dated(found.newest, found.limit, late=found.is_late(now)),
        "restored": tested,
        "copied": copied,
    }


def _dated(newest: datetime | None, limit: timedelta, *, late: bool) -> dict[str, Any]:
    return {"newest": newest.isoformat() if newest else None, "limit": limit.total_seconds(), "late": late}
