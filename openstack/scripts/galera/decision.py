"""Decides whether a member of Galera bootstraps the cluster, joins it, or waits.

A member joins a primary component if there is one. Otherwise the most advanced member bootstraps, and all others wait.
Each member records the members of its last primary component. A member in one of the records may have more
transactions, so its answer is awaited before a bootstrap. A member in none of the records cannot have more
transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

FORCE = "GALERA_FORCE_BOOTSTRAP"
"""Environment variable with the member that bootstraps by force, whatever the other members have. A value takes effect
once."""
NO_UUID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Position:
    """The position of a member, as the member reports it to other members."""

    name: str
    phase: Literal["starting", "running"]
    """`running` if mariadbd is running or starting; `starting` before that."""
    has_data: bool = False
    uuid: str = NO_UUID
    """UUID of the cluster to which the data belongs; NO_UUID for incomplete data, with which a member can only join."""
    seqno: int = -1
    """Sequence number of the last transaction in the data."""
    view: tuple[str, ...] = ()
    """Names of the members of the last primary component to which the member belonged."""
    primary: bool = False
    """Whether the member is in a primary component now, and serves."""
    restored: str = ""
    """Time at which the data was restored from a backup, such as `2026-11-22T02:00:00Z`; empty if it was not."""

    @property
    def is_known(self) -> bool:
        return self.has_data and self.uuid != NO_UUID and self.seqno >= 0


@dataclass(frozen=True)
class Decision:
    """The next action of a member, with the reason."""

    action: Literal["wait", "join", "bootstrap"]
    reason: str
    restored: str = ""
    """Time of the restoration whose data replaces the member's own, older data; empty if the member keeps its data."""


def ordinal(name: str) -> int:
    """Returns the ordinal of a StatefulSet's member, such as 2 for mysqld-2."""
    return int(name.rpartition("-")[2])


def decide(own: Position, others: Iterable[Position], first: Sequence[str], forced: str | None) -> Decision:
    """Returns the next action of the member with the position `own`.

    `others`: positions of the members that answered. `first`: members of a new cluster. `forced`: member that
    bootstraps by force, or None.
    """
    others = tuple(others)
    primary = [each for each in others if each.primary]
    if primary:
        return _join(own, primary)
    # Data from before a restoration has more transactions than the restored data, but must not replace it.
    newest = max(each.restored for each in (own, *others))
    own, *others = (each if each.restored == newest else _void(each) for each in (own, *others))
    if forced == own.name:
        return Decision("bootstrap", f"{FORCE} names this member")
    if forced:
        return Decision("wait", f"{FORCE} names {forced}, which is in no primary component yet")
    answered = {each.name: each for each in (own, *others)}
    known = [each for each in answered.values() if each.is_known]
    awaited = {name for each in known for name in each.view} or set(first)
    if missing := sorted(awaited - answered.keys(), key=ordinal):
        return Decision("wait", f"no answer from {', '.join(missing)}, which may have newer data")
    if running := sorted(each.name for each in others if each.phase == "running"):
        return Decision("wait", f"{', '.join(running)} runs and is in no primary component yet")
    return _bootstrap(own, list(answered.values()), known)


def waited_for(view: Sequence[str], own: str, others: Iterable[Position]) -> bool:
    """Returns whether a running member without a primary component keeps the cluster from starting.

    This is so if all other members of its last primary component answer, at least one of them waits to start, and none
    is in a primary component. Members that wait join a primary component only. `view`: the members of the last primary
    component; `own`: the name of the running member.
    """
    others = tuple(others)
    answered = {each.name for each in others}
    return (
        not any(each.primary for each in others)
        and any(each.phase == "starting" for each in others)
        and all(name in answered for name in view if name != own)
    )


def _void(position: Position) -> Position:
    """Returns a copy of a position with which the member can only join, not bootstrap."""
    return replace(position, uuid=NO_UUID, seqno=-1, view=())


def _join(own: Position, primary: Sequence[Position]) -> Decision:
    names = ", ".join(each.name for each in primary)
    restored = max(each.restored for each in primary)
    if own.restored > restored:
        return Decision("wait", f"its data is restored, and {names} runs with data from before: stop all members")
    if own.restored < restored:
        return Decision("join", f"primary component with {names}, whose data is restored", restored)
    foreign = [each for each in primary if own.is_known and each.uuid != own.uuid]
    if foreign:
        return Decision(
            "wait",
            f"its data is of cluster {own.uuid}, and {foreign[0].name} is in cluster {foreign[0].uuid}: remove the "
            "data of the one that is wrong",
        )
    return Decision("join", f"primary component with {names}")


def _bootstrap(own: Position, answered: Sequence[Position], known: Sequence[Position]) -> Decision:
    if not known:
        unknown = [each.name for each in answered if each.has_data]
        if unknown:
            return Decision("wait", f"the data of {', '.join(unknown)} is incomplete; restore it, or set {FORCE}")
        chosen, why = min(answered, key=lambda each: ordinal(each.name)), "no member has data"
    else:
        clusters = {each.uuid for each in known}
        if len(clusters) > 1:
            return Decision("wait", f"the members have data of {len(clusters)} clusters; set {FORCE}")
        chosen = min(known, key=lambda each: (-each.seqno, ordinal(each.name)))
        why = f"most advanced at {chosen.seqno}"
    if chosen.name == own.name:
        return Decision("bootstrap", why)
    return Decision("wait", f"{chosen.name} bootstraps: {why}")
