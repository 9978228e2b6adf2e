"""Who joins a quorum and who leaves it: what decides whether a change can be made at all.

Members are counted the careful way: where a quorum's pods may be on more nodes than there are pods, a node that goes
may have carried one. A change is forbidden when fewer members stay than a majority of those that were, or when two
leave at once and nothing makes them leave one after another (issue 5: such a change is refused).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from changes.change import Change, Kind, Level, Phase
from changes.machines import bare_disks
from changes.side import Quorum, Side
from policy.wording import join_names, pluralize


@dataclass(frozen=True)
class Leaving:
    """Members that a change takes away."""

    number: int
    why: tuple[str, ...]
    in_turn: bool
    """Whether Kubernetes itself takes them one after another."""
    phase: Phase
    """Before whatever takes the ground from under them: the machine that moves, the count, the machine that goes."""


def quorum_changes(before: Side, after: Side, renamed: Collection[str]) -> Iterator[Change]:
    """Joining and leaving; `renamed` are keys of quorums that are told as renamed."""
    bare = bare_disks(before, after)
    for key, quorum in sorted(before.quorums.items()):
        now = after.quorums.get(key)
        if now is None:
            if key not in renamed:
                yield _gone(quorum)
            continue
        leaving = _leaving(quorum, now, bare, after)
        if leaving.number:
            yield _leave(quorum, now, leaving)
        joining = _joining(quorum, now)
        if joining:
            yield _join(quorum, now, joining)


def _leaving(quorum: Quorum, now: Quorum, bare: Collection[str], after: Side) -> Leaving:
    gone, wiped = quorum.nodes - now.nodes, quorum.nodes & now.nodes & frozenset(bare)
    fewer = max(0, quorum.size - now.size)
    by_node = min(quorum.size, len(gone | wiped))
    why = (
        *((f"{join_names(gone)} no longer {'carry' if len(gone) > 1 else 'carries'} it",) if gone else ()),
        *((f"{join_names(wiped)} {'lose their disks' if len(wiped) > 1 else 'loses its disk'}",) if wiped else ()),
        *((f"it has {now.size} members instead of {quorum.size}",) if fewer else ()),
    )
    phase = Phase.MOVE if wiped or gone & after.machines.keys() else Phase.REMOVE if gone else Phase.SHRINK
    return Leaving(max(fewer, by_node), why, by_node == 0 and _shrinks_in_turn(now), phase)


def _shrinks_in_turn(quorum: Quorum) -> bool:
    """A StatefulSet ends surplus pods one after another, unless it is told to do so all at once."""
    if len(quorum.workloads) != 1 or quorum.workloads[0].kind != "StatefulSet":
        return False
    spec = quorum.workloads[0].resource.props.at("spec")
    return spec.at("podManagementPolicy").text("OrderedReady") == "OrderedReady"


def _joining(quorum: Quorum, now: Quorum) -> int:
    if not now.workloads:
        return len(now.nodes - quorum.nodes)
    return max(0, now.size - quorum.size)


def _leave(quorum: Quorum, now: Quorum, leaving: Leaving) -> Change:
    stay = quorum.size - leaving.number
    too_few = stay < quorum.majority
    at_once = leaving.number > 1 and not leaving.in_turn
    risk = f"{pluralize(stay, 'member')} of {quorum.size} would stay; a majority is {quorum.majority}."
    if at_once:
        risk += " Two members at once is one too many: the next loss may be the last."
    split = ("Split this into changes that take one member each.",) if at_once or too_few else ()
    return Change(
        Kind.MEMBERS_LEAVE,
        leaving.phase,
        f"takes {pluralize(leaving.number, 'member')} from {quorum.title}: {'; '.join(leaving.why)}",
        (now.resource,),
        steps=(
            *split,
            "Take the member out of the quorum by its own command, one member at a time.",
            f"Wait until the others agree: {now.title} has {pluralize(now.size, 'member')}, all up.",
            "Only then touch what it ran on.",
        ),
        checks=(quorum.whole,),
        risk=risk,
        level=Level.FORBIDDEN if too_few or at_once else Level.RISKY,
    )


def _join(quorum: Quorum, now: Quorum, number: int) -> Change:
    return Change(
        Kind.MEMBERS_JOIN,
        Phase.JOIN,
        f"adds {pluralize(number, 'member')} to {quorum.title}: from {quorum.size} to {now.size}",
        (now.resource,),
        steps=(
            "Add one member, and wait until it has all the data and votes.",
            *(("Then the next one.",) if number > 1 else ()),
        ),
        checks=(quorum.whole,),
        risk="A member that joins raises the majority before it can vote itself.",
        level=Level.RISKY,
    )


def _gone(quorum: Quorum) -> Change:
    return Change(
        Kind.MEMBERS_LEAVE,
        Phase.REMOVE,
        f"takes away the whole quorum {quorum.title}, {pluralize(quorum.size, 'member')}",
        (quorum.resource,),
        steps=("Back up its data.", "Take away what uses it.", "Take it away in a change of its own, on purpose."),
        checks=(quorum.whole,),
        risk="No member stays, and with them goes the data.",
        level=Level.FORBIDDEN,
    )
