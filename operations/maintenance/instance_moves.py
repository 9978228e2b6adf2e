"""Moves the instances of computes elsewhere, and waits for each: by Nova's scheduler, one at a time from each compute.

What is under way is Nova's own state, which every look asks again, so that a run that was killed awaits it. Only the
instances that are moved cold are written in the Lease before: each of them needs a confirmation, which nobody but the
run that asked for the move may give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from console.progress import duration
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.live_cluster import LiveCluster
from operations.maintenance.instances import (
    MOVED,
    MOVING,
    Choices,
    Instance,
    asked_to,
    failure,
    instances,
    looked_at,
    outlook,
)
from operations.operation_lease import HeldLease

MOVE = 3600.0
"""Seconds after which a migration is no longer awaited. Project figure: Nova ends a live one itself after 800 s for
each GiB that it copies."""
PAUSE = 5.0
"""Seconds between two looks."""


def choices_of(cluster: LiveCluster, *, cold: bool) -> Choices:
    """Returns how the instances of a cloud may be moved."""
    return Choices(wiring(cluster.plan, ENVIRONMENT).sets_up_machines, cold)


class InstanceMoves:
    """The moves of one run away from the computes `hosts`."""

    def __init__(
        self,
        cluster: LiveCluster,
        lease: HeldLease,
        hosts: Sequence[str],
        choices: Choices,
        say: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._hosts = hosts
        self._choices = choices
        self._say = say
        self._moving: dict[str, tuple[Instance, float]] = {}
        """Instances on their way, by id: each as it was before, and since when it is awaited."""
        self._asked: set[str] = set()
        self._failed: dict[str, tuple[Instance, str]] = {}
        """Instances that were not moved, by id, each with the reason."""

    def run(self) -> list[tuple[Instance, str]]:
        """Moves what can be moved. Returns the instances that stop the run, each with the reason."""
        self._await_confirmations()
        while True:
            found = instances(self._cluster, self._hosts)
            self._begin(found)
            if not self._moving:
                return self._left(found)
            self._follow()

    def confirm(self) -> None:
        """Confirms the cold moves of a run that was killed, and waits for those that are under way."""
        self._await_confirmations()
        while self._moving:
            self._follow()

    def _await_confirmations(self) -> None:
        now = time.monotonic()
        for each in looked_at(self._cluster, self._lease.operation.cold) if self._lease.operation.cold else ():
            if each.task in MOVING or each.status == MOVED:
                self._moving[each.id] = (replace(each, host=""), now)  # Nova has changed its host, or will

    def _begin(self, found: Sequence[Instance]) -> None:
        """Awaits what is under way, and asks for the next move from each compute that has none."""
        for each in found:
            way = outlook(each, self._choices).way
            if way == "under way" and each.id not in self._moving and each.id not in self._failed:
                self._say(f"  waits for {each.called}, which is on its way from {each.host} already")
                self._moving[each.id] = (each, time.monotonic())
        busy = {each.host for each, _ in self._moving.values()}
        for each in found:
            way = outlook(each, self._choices).way
            movable = way in ("live", "cold") and each.id not in self._failed
            if movable and each.host not in busy and self._asks(each, "cold" if way == "cold" else "live"):
                busy.add(each.host)

    def _asks(self, instance: Instance, way: Literal["live", "cold"]) -> bool:
        """Asks Nova to move an instance. Whether it is on its way then."""
        self._lease.require()
        if way == "cold":
            self._lease.change(cold=tuple(dict.fromkeys((*self._lease.operation.cold, instance.id))))
        self._say(f"  {way} migration of {instance.called} from {instance.host}")
        refused = asked_to(self._cluster, way, instance.id)
        if refused and not self._is_on_its_way(instance):
            self._fail(instance, refused)
            return False
        self._asked.add(instance.id)
        self._moving[instance.id] = (instance, time.monotonic())
        return True

    def _is_on_its_way(self, instance: Instance) -> bool:
        """Whether Nova has refused a request because it does already what a lost answer was about."""
        return any(each.task in MOVING for each in looked_at(self._cluster, [instance.id]))

    def _follow(self) -> None:
        """Waits until a move has ended, well or not."""
        waiting = set(self._moving)
        while waiting == set(self._moving):
            time.sleep(PAUSE)
            self._lease.require()
            seen = {each.id: each for each in looked_at(self._cluster, self._moving)}
            for id_, (before, since) in list(self._moving.items()):
                self._judge(before, seen.get(id_), since)

    def _judge(self, before: Instance, now: Instance | None, since: float) -> None:
        """Notes whether a move has ended."""
        took = time.monotonic() - since
        if now is None:
            self._end(before, "was deleted")
        elif now.task in MOVING:
            if took > MOVE:
                self._give_up(now, f"Nova moves it since {duration(took)} ({now.task}); the next run awaits it")
        elif now.status == MOVED and now.id in self._lease.operation.cold:
            # One that is being confirmed already is refused, and has another status soon.
            refused = asked_to(self._cluster, "confirm", now.id)
            if took > MOVE:
                self._give_up(now, f"its move is not confirmed: {refused}")
        elif now.host == before.host and now.id in self._asked:
            self._fail(now, failure(self._cluster, now.id))
        elif now.host == before.host:
            self._end(before, f"has not left {now.host}")  # not this run's: it is asked for its own move
        elif now.status == "ERROR":
            self._end(before, f"is in ERROR on {now.host}: {now.fault or failure(self._cluster, now.id)}")
        else:
            self._end(before, f"is on {now.host}, {now.status} ({duration(took)})")

    def _end(self, instance: Instance, what: str) -> None:
        self._say(f"  {instance.called} {what}")
        self._forget(instance)

    def _fail(self, instance: Instance, reason: str) -> None:
        self._give_up(instance, reason)
        self._forget(instance)

    def _give_up(self, instance: Instance, reason: str) -> None:
        """Awaits a move no longer, and keeps in the Lease that it may need a confirmation."""
        self._failed[instance.id] = (instance, reason)
        self._say(f"  {instance.called} was not moved: {reason}")
        self._moving.pop(instance.id, None)

    def _forget(self, instance: Instance) -> None:
        self._moving.pop(instance.id, None)
        if instance.id in self._lease.operation.cold:
            self._lease.change(cold=tuple(each for each in self._lease.operation.cold if each != instance.id))

    def _left(self, found: Sequence[Instance]) -> list[tuple[Instance, str]]:
        """Returns what stops the run, and says what stays."""
        here = {each.id for each in found}
        left = [pair for id_, pair in self._failed.items() if id_ not in here]  # not confirmed
        for each in found:
            expected = outlook(each, self._choices)
            _, reason = self._failed.get(each.id, (each, expected.says))
            if expected.way == "stops" or (each.id in self._failed and each.runs):
                left.append((each, reason))
            else:
                self._say(f"  {each.called}, {each.status}, {reason}")
        return left
