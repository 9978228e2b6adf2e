"""The state of a living quorum and of its members, the same for every kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from blueprint.plan.quorum_limits import majority
from operations.living.answers import Answer, Unanswered, disk_use

T = TypeVar("T")
Standing = Literal["whole", "reduced", "lost", "unknown"]
"""`whole`: every member takes part, and nothing is wrong with any. `reduced`: it serves, without a member or with one
that is in trouble. `lost`: it has no majority. `unknown`: nobody could say."""


@dataclass(frozen=True)
class LivingMember:
    """A member of a quorum, as the quorum's own program sees it now."""

    name: str
    counts: bool
    """Whether it takes part in the quorum with its data, so that another member may stop."""
    says: str
    """Its state in the words of its program; for a member that does not count, why."""
    is_down: bool = False
    """Whether it was reached, and its program does not run, or refuses."""
    votes: bool = True
    """Whether it has a vote: a learner of etcd has none, and serves."""
    leads: bool = False
    """Whether it leads, so that its stop costs an election."""
    troubles: tuple[str, ...] = ()
    """What is wrong with it although it counts."""
    version: str = ""


@dataclass(frozen=True)
class LivingQuorum:
    """A quorum as its own program sees it now."""

    name: str
    kind: str
    """Which program it is of: etcd, galera, rabbitmq, ceph, opensearch or ovn."""
    members: tuple[LivingMember, ...]
    serves: bool | None
    """Whether it has a majority, by its own program; None if no member could be asked."""
    figures: tuple[str, ...] = ()
    """What its program measures, such as the size of a database, in words."""
    size: int | None = None
    """Bytes that the member with the most data has on its disk; None if that is not known, or was not asked."""
    troubles: tuple[str, ...] = ()
    """What is wrong with the quorum as a whole, such as an alarm."""
    notes: tuple[str, ...] = ()
    """What an operator may want to change, and which disturbs nobody now."""
    critical: Mapping[str, str] = field(default_factory=dict[str, str])
    """What would stop without a member, by its name, although the others are a majority."""

    @property
    def voters(self) -> tuple[LivingMember, ...]:
        """The members with a vote."""
        return tuple(member for member in self.members if member.votes)

    @property
    def counting(self) -> int:
        """Number of members with a vote that take part now."""
        return sum(member.counts for member in self.voters)

    @property
    def needed(self) -> int:
        """Number of members with a vote that must take part."""
        return majority(len(self.voters))

    @property
    def standing(self) -> Standing:
        """What the state means."""
        if self.serves is None:
            # Members that were reached and do not run are not a majority, whatever the others are.
            others = len(self.voters) - sum(member.is_down for member in self.voters)
            return "lost" if others < self.needed else "unknown"
        if not self.serves:
            return "lost"
        sound = all(member.counts and not member.troubles for member in self.members)
        return "whole" if sound and not self.troubles and not different_versions(self) else "reduced"


def different_versions(quorum: LivingQuorum) -> tuple[str, ...]:
    """Returns the versions of the members if they differ, as in an upgrade that was not ended; otherwise ()."""
    found = sorted({member.version for member in quorum.members if member.version})
    return tuple(found) if len(found) > 1 else ()


def with_votes(members: Iterable[LivingMember], voters: Collection[str]) -> tuple[LivingMember, ...]:
    """Returns the members, of which those named in `voters` have a vote: those that the program itself lists."""
    return tuple(replace(member, votes=member.name in voters) for member in members)


def heard(
    declared: Sequence[str], answers: Mapping[str, Answer], read: Callable[[Answer], T]
) -> tuple[dict[str, T], dict[str, LivingMember]]:
    """Returns what `read` makes of the members' answers, and the members whose answers it cannot read, by name.

    `read` raises Unanswered for an answer that it cannot read.
    """
    found: dict[str, T] = {}
    silent: dict[str, LivingMember] = {}
    for name in declared:
        answer = answers[name]
        try:
            found[name] = read(answer)
        except Unanswered as error:
            silent[name] = LivingMember(
                name, counts=False, says=str(error), is_down=answer.is_down, troubles=disk_use(answer)
            )
    return found, silent
