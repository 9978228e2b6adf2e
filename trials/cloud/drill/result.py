"""What a drill has shown: how long APIs were silent, which members each quorum had, and which writes were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]
"""What observer.py prints as a line of JSON: its time `t`, its `kind` (`answer` or `members`) and what was observed."""
Asked = tuple[float, str | None]
"""A request: its time, and why it failed, or None if it was answered."""


@dataclass(frozen=True)
class Silence:
    """How an API answered."""

    requests: int
    failed: int
    longest: float
    """Seconds of the longest time without an answer: from the last answer before a failure to the first after it."""
    spans: tuple[tuple[float, float], ...]
    """Start and end of each time without an answer."""
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each reason was given for a request that failed."""


@dataclass(frozen=True)
class Members:
    """The ready members of a quorum during a drill."""

    total: int
    counts: tuple[tuple[float, int], ...]
    """The number of ready members, with the time from which on it is true."""

    @property
    def majority(self) -> int:
        """Members that a decision needs."""
        return self.total // 2 + 1

    @property
    def least(self) -> int:
        """The smallest number of ready members."""
        return min(count for _, count in self.counts)

    def whole_again(self) -> float | None:
        """Returns since when all members have been ready; None if they are not."""
        moment, count = self.counts[-1]
        return moment if count == self.total else None


@dataclass(frozen=True)
class Writes:
    """Writes of one kind, and those that were acknowledged but not found afterwards."""

    tried: int
    acknowledged: int
    lost: tuple[int, ...]
    longest: float
    """Seconds of the longest time without an acknowledgement."""
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each reason was given for a write that was not acknowledged."""


@dataclass(frozen=True)
class Drill:
    """The result of a disturbance."""

    stack: str
    title: str
    """Such as `virt2 without power`."""
    machines: tuple[str, ...]
    """The machines that were disturbed; none if only pods were."""
    started: float
    began: float
    """When the disturbance began."""
    over: float
    """When it was over, such as when the power was back."""
    whole: float | None
    """When everything was as before; None if it never was."""
    ended: float
    apis: Mapping[str, Silence]
    quorums: Mapping[str, Members]
    writes: Mapping[str, Writes]
    keeps_majority: bool = True
    """Whether every quorum must have kept its majority."""
    donating: Collection[str] = ()
    """As a Disturbance has it."""
    failures: Sequence[str] = field(default=())
    """What the disturbance failed to do, and what was not ready at the end."""

    def problems(self) -> list[str]:
        """Returns why the drill has failed; empty if it has passed."""
        found = [
            f"{name}: acknowledged writes were lost: {_shown(writes.lost)}"
            for name, writes in self.writes.items()
            if writes.lost
        ]
        found += [f"{name}: no write was acknowledged" for name, each in self.writes.items() if not each.acknowledged]
        found += [
            f"{name}: {members.least} of {members.total} members were ready, and a majority is {members.majority}"
            for name, members in self.quorums.items()
            # A quorum of one member is away while that is replaced: its stack has chosen so.
            if self.keeps_majority and members.total > 1 and members.least < members.majority - (name in self.donating)
        ]
        return [*found, *self.failures]


def _shown(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
    return ", ".join(map(str, numbers[:10])) + more


def silence(events: Iterable[Event], api: str, end: float) -> Silence:
    """Returns how an API answered until `end`."""
    asked = [(event["t"], event["reason"]) for event in events if event["kind"] == "answer" and event["api"] == api]
    spans, reasons = tuple(_silent_spans(asked, end)), _reasons(asked)
    return Silence(len(asked), sum(reasons.values()), _longest(spans), spans, reasons)


def _silent_spans(asked: Sequence[Asked], end: float) -> Iterable[tuple[float, float]]:
    """Yields the times between two answers with a failure in between."""
    before, failing = asked[0][0] if asked else end, False
    for moment, reason in asked:
        if reason is not None:
            failing = True
            continue
        if failing:
            yield before, moment
        before, failing = moment, False
    if failing:
        yield before, end


def _longest(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the seconds of the longest of some periods; 0 if there are none."""
    return max((end - start for start, end in spans), default=0.0)


def _reasons(asked: Iterable[Asked]) -> dict[str, int]:
    """Counts the reasons of failed requests."""
    return dict(Counter(reason for _, reason in asked if reason is not None))


def members(events: Iterable[Event], quorum: str, total: int) -> Members:
    """Returns the ready members of a quorum of `total`."""
    counts: list[tuple[float, int]] = []
    for event in events:
        if event["kind"] == "members" and (event["complete"] or quorum in event["members"]):
            count = len(event["members"].get(quorum, ()))
            if not counts or counts[-1][1] != count:
                counts.append((event["t"], count))
    return Members(total, tuple(counts))


def writes(tried: Sequence[tuple[float, int, str | None]], found: Collection[int], end: float) -> Writes:
    """Returns how writes went until `end`.

    `tried`: for each write its time, its number, and why it was not acknowledged, or None if it was. `found`: numbers
    of the writes that exist at the end.
    """
    acknowledged = [number for _, number, reason in tried if reason is None]
    lost = tuple(sorted(set(acknowledged) - set(found)))
    asked = [(moment, reason) for moment, _, reason in tried]
    return Writes(len(tried), len(acknowledged), lost, _longest(_silent_spans(asked, end)), _reasons(asked))
