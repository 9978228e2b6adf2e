"""What the members of a Galera without its majority have, from whose data it goes on, and the steps, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from operations.living.beside_quorums import age
from operations.restoration.galera_going_on import GaleraGoingOn
from operations.restoration.galera_members import GaleraMember


def found(galera: str, members: Sequence[GaleraMember], now: datetime) -> str:
    """Returns what each member has."""
    primary = sum(each.primary for each in members)
    lines = [f"{galera}: {primary} of {len(members)} members are in a primary component"]
    return "\n".join([*lines, *(line for each in members for line in _member(each, now))])


def _member(member: GaleraMember, now: datetime) -> Iterator[str]:
    if member.problem:
        yield f"    {member.place}: not asked: {member.problem}"
        return
    runs = "its database runs" if member.runs else "its database waits"
    yield f"    {member.place}: {runs}: {member.does}"
    yield f"        data: {member.uuid}:{member.seqno}" if member.has_data else "        data: none that is complete"
    together = ", ".join(member.view) or "members that are not known"
    yield f"        last primary component: {together}; in it until {_when(member.served, now)}"


def _when(moment: datetime | None, now: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {age(now - moment)} ago" if moment else "a time that is not known"


def plan(going_on: GaleraGoingOn, now: datetime) -> str:
    """Returns from whose data it goes on, what is lost with that, and the numbered steps."""
    return "\n".join(_plan(going_on, now))


def _plan(going_on: GaleraGoingOn, now: datetime) -> Iterator[str]:
    source = going_on.source
    yield ""
    if source.primary:
        yield f"{source.name} has gone on: this run waits for it."
    yield f"From the data of {source.name}, at {source.seqno}, which took part until {_when(source.served, now)}."
    yield f"Lost: what the other members had acknowledged after that without {source.name}. If it took part until they"
    yield "died, at most what it had not received from them."
    yield "Their machines must not start with their old data before they are replaced."
    yield ""
    yield from (f"{number:>3}. {does}" for number, does in enumerate(going_on.steps(), start=1))
