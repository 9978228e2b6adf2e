"""What the members of a quorum without its majority have, from whose data it goes on, and the steps, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from operations.living.beside_quorums import age
from operations.restoration.going_on import GoingOn
from operations.restoration.survivors import Survivor


def found(quorum: str, members: Sequence[Survivor], now: datetime) -> str:
    """Returns what each member has."""
    serving = sum(each.serves for each in members)
    lines = [f"{quorum}: {serving} of {len(members)} members have a majority"]
    return "\n".join([*lines, *(line for each in members for line in _member(each, now))])


def _member(member: Survivor, now: datetime) -> Iterator[str]:
    if member.problem:
        yield f"    {member.place}: not asked: {member.problem}"
        return
    yield f"    {member.place}: {member.does}"
    yield f"        data: {member.data or 'none that is complete'}; took part until {_when(member.served, now)}"
    yield f"        the members that it knows of: {', '.join(member.together) or 'none'}"


def _when(moment: datetime | None, now: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {age(now - moment)} ago" if moment else "a time that is not known"


def plan(going_on: GoingOn, now: datetime) -> str:
    """Returns from whose data it goes on, what is lost with that, and the numbered steps."""
    return "\n".join(_plan(going_on, now))


def _plan(going_on: GoingOn, now: datetime) -> Iterator[str]:
    source = going_on.source
    yield ""
    if source.serves:
        yield f"{source.name} has gone on: this run ends it."
    yield f"From the data of {source.name} ({source.data}), which took part until {_when(source.served, now)}."
    yield f"Lost: what the other members had acknowledged after that without {source.name}. If it took part until they"
    yield "died, at most what it had not received from them."
    if going_on.program.lost:
        yield going_on.program.lost
    yield "Their machines must not start with their old data before they are replaced."
    yield ""
    yield from (f"{number:>3}. {does}" for number, does in enumerate(going_on.steps(), start=1))
