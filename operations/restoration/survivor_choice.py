"""From which member's data a quorum goes on when the others are lost for good, and why it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.errors import UserError
from operations.restoration.survivors import Survivor
from text.suggestion import did_you_mean


def chosen(
    members: Sequence[Survivor], wanted: str, dead: Sequence[str], alive: Sequence[str] = (), *, alone: bool = False
) -> Survivor:
    """Returns the member from whose data the quorum goes on.

    wanted: its name; "" for the one with the newest data.
    dead: machines that are off and stay off, as the user says. alive: what shows that one of them is on.
    alone: whether only a member beside which no other answers can go on.

    Raises UserError with all reasons for which it does not go on.
    """
    reasons = [*_majority(members), *_wrongly_dead(members, dead), *alive, *_unreached(members, dead)]
    source = None
    try:
        source = _source(members, wanted)
    except UserError as error:
        reasons.append(str(error))
    answer = [each.name for each in members if not each.problem]
    if not wanted and len(answer) == len(members):
        reasons.append("all members answer, and none is lost: they start by themselves unless they say otherwise above")
    elif alone and len(answer) > 1:
        reasons.append(f"{', '.join(answer)} answer, and only one may: switch off the machines of the others")
    if reasons or source is None:
        raise UserError("\n".join(f"  - {each}" for each in reasons))
    return source


def _majority(members: Sequence[Survivor]) -> Iterator[str]:
    if serving := [each.name for each in members if each.serves]:
        yield f"{', '.join(serving)} has a majority: the quorum is not lost"


def _wrongly_dead(members: Sequence[Survivor], dead: Sequence[str]) -> Iterator[str]:
    nodes = [each.node for each in members if each.node]
    for machine in dead:
        here = [each for each in members if each.node == machine]
        if not here:
            yield f"--dead {machine}: no member is there{did_you_mean(machine, nodes)}"
        yield from (f"--dead {machine}: {each.name} answers there" for each in here if not each.problem)


def _unreached(members: Sequence[Survivor], dead: Sequence[str]) -> Iterator[str]:
    """Yields the members that may come back, or run where they cannot be reached."""
    for each in members:
        if each.problem and each.node not in dead:
            advice = (
                f"Start {each.node}; or if it is off and stays off, add --dead {each.node}"
                if each.node
                else "Name its machine with --dead if that is off and stays off"
            )
            yield f"{each.place} was not asked: {each.problem}. It may have newer data, or serve. {advice}"


def _source(members: Sequence[Survivor], wanted: str) -> Survivor:
    whole = [each for each in members if each.data]
    if wanted:
        for each in whole:
            if each.name == wanted:
                return each
        raise UserError(f"{wanted} has no complete data that it tells of")
    if not whole:
        raise UserError("no member that answers has complete data: restore a backup if there is one (docs/on-call.md)")
    if len({each.cluster for each in whole}) > 1:
        raise UserError(f"{', '.join(each.name for each in whole)} have data of several clusters: name one by --from")
    return max(whole, key=lambda each: each.position)
