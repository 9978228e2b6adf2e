"""Finds members that join or leave quorums between two previews, and changes that are forbidden because of this.

policy/facts/membership.py computes the members that leave. The limits are those of the policy rules on updates: a
change is forbidden if less than a majority of a quorum would stay, if two members of one quorum leave at once, or if
members on two physical hosts leave, counted over all quorums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from changes.change import Change, ChangeKind, Phase, Risk
from changes.side import ComparedQuorum, Side
from policy.facts.membership import Departure, QuorumState, departures, hosts_left
from text.plural import pluralize


def quorum_changes(before: Side, after: Side, renamed: Collection[str]) -> Iterator[Change]:
    """Yields a change for each quorum whose members join or leave. `renamed`: keys of quorums reported as renamed."""
    old, new = before.quorums, after.quorums
    found = departures(_states(old), _states(new))
    hosts = hosts_left(found[key] for key in old if key not in renamed)
    for key, quorum in sorted(old.items()):
        now = new.get(key)
        if now is None:
            if key not in renamed:
                yield _gone(quorum)
            continue
        if found[key].lost:
            yield _leave(quorum, now, found[key], hosts, _phase(found[key], after))
        if joining := _joining(quorum, now):
            yield _join(quorum, now, joining)


def _states(quorums: Mapping[str, ComparedQuorum]) -> dict[str, QuorumState]:
    return {key: quorum.state for key, quorum in quorums.items()}


def _phase(departure: Departure, after: Side) -> Phase:
    """Returns the phase in which members leave:

    MOVE if a node moves, REMOVE if it is removed, SHRINK for a lower count.
    """
    if departure.nodes.keys() & after.machines.keys():
        return Phase.MOVE
    return Phase.REMOVE if departure.nodes else Phase.SHRINK


def _joining(quorum: ComparedQuorum, now: ComparedQuorum) -> int:
    """Returns the number of members that join a quorum: new machines, or additional pods."""
    if not now.workloads:
        return len(now.nodes - quorum.nodes)
    return max(0, now.size - quorum.size)


def _leave(quorum: ComparedQuorum, now: ComparedQuorum, departure: Departure, hosts: int, phase: Phase) -> Change:
    stay = quorum.size - departure.lost
    too_few = stay < quorum.majority
    forbidden = too_few or departure.lost > 1 or hosts > 1
    risk = f"{pluralize(stay, 'member')} of {quorum.size} would stay; a majority is {quorum.majority}."
    if departure.lost > 1:
        risk += " At most one member may leave at a time, so that the next failure is tolerated."
    if hosts > 1:
        risk += f" Members on {hosts} physical hosts leave in this change, of all quorums together; at most 1 may."
    split = ("Split this into changes that remove the members of one server each.",) if forbidden else ()
    return Change(
        ChangeKind.MEMBERS_LEAVE,
        phase,
        f"removes {pluralize(departure.lost, 'member')} from {quorum.title}: {departure.words}",
        (now.resource,),
        steps=(
            *split,
            "Remove the member from the quorum by the quorum's own command, one member at a time.",
            f"Wait until the others confirm it: {now.title} has {pluralize(now.size, 'member')}, all up.",
            "Only then change the machine that the member ran on.",
        ),
        checks=(quorum.complete,),
        risk=risk,
        level=Risk.FORBIDDEN if forbidden else Risk.RISKY,
    )


def _join(quorum: ComparedQuorum, now: ComparedQuorum, number: int) -> Change:
    return Change(
        ChangeKind.MEMBERS_JOIN,
        Phase.JOIN,
        f"adds {pluralize(number, 'member')} to {quorum.title}: from {quorum.size} to {now.size}",
        (now.resource,),
        steps=(
            "Add one member, and wait until it has all the data and is a voting member.",
            *(("Then the next one.",) if number > 1 else ()),
        ),
        checks=(quorum.complete,),
        risk="A member that joins raises the majority before it can vote itself.",
        level=Risk.RISKY,
    )


def _gone(quorum: ComparedQuorum) -> Change:
    return Change(
        ChangeKind.MEMBERS_LEAVE,
        Phase.REMOVE,
        f"removes the whole quorum {quorum.title}, {pluralize(quorum.size, 'member')}",
        (quorum.resource,),
        steps=("Back up its data.", "Remove its clients.", "Remove it in a separate change."),
        checks=(quorum.complete,),
        risk="No member remains, and the data is lost.",
        level=Risk.FORBIDDEN,
    )
