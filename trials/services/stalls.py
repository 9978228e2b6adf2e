"""Faults with which a member neither serves nor ends: it pauses, is not heard, or has a full or slow disk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trials.histories import silence
from trials.histories.degradation import degradation
from trials.histories.operation import ClientOperation
from trials.services.testbed import Broken, ServiceMachine

LENGTH = 60.0
"""Seconds that a fault lasts: longer than the time-outs of members for each other."""
SETTLE = 10.0
"""Seconds after a fault until the probes of a member say how it is now: those of a member that slept are old."""
SLOW = 5
"""Writes a second of a slow disk: a sync of a small file takes about a second. Project figure."""
_TROUBLE = re.compile(r"down|fail|not respond|unreach|lost|suspect|inactive|time.?out|refused|slow|full", re.IGNORECASE)
_FILL = 'fallocate --length "$(df --block-size=1 --output=avail "$1" | tail -n 1)" "$1/filler" || true'


@dataclass(frozen=True)
class Stall:
    """A fault of one member: how it begins and how it ends."""

    begin: Callable[[ServiceMachine], None]
    end: Callable[[ServiceMachine], None]

    def hold(self, service: StalledService) -> list[str]:
        """Keeps the fault of a service's first member up for LENGTH seconds.

        Returns notes: the member, each new state with its time, and when a log of the others named the member.
        """
        machine, *others = service.members
        names = re.compile("|".join(map(re.escape, (f"{machine.name}.", f"{machine.address}:", *service.aliases))))
        logs = [_Log(other) for other in others]
        started, seen, notes, named = time.monotonic(), service.state(), [machine.name], ""
        self.begin(machine)
        try:
            while time.monotonic() - started < LENGTH:
                now, after = service.state(), time.monotonic() - started
                if now != seen:
                    notes.append(f"after {after:.0f} s: {now}")
                    seen = now
                if not named and (named := next(filter(None, (log.trouble(names) for log in logs)), "")):
                    notes.append(f"named by a log after {after:.0f} s: {named}")
                time.sleep(1)
        finally:
            self.end(machine)
        return notes if named else [*notes, "no log of the other members named it"]


class _Log:
    """What a machine logs from now on."""

    def __init__(self, machine: ServiceMachine) -> None:
        self._machine = machine
        self._read = machine.log.stat().st_size

    def trouble(self, names: re.Pattern[str]) -> str:
        """Returns the first new line that names a machine and a trouble; "" if there is none."""
        with self._machine.log.open(errors="replace") as log:
            log.seek(self._read)
            lines = log.read().splitlines()
        found = (line for line in lines if names.search(line) and _TROUBLE.search(line))
        return next((f"{self._machine.name}: {line.strip()[:160]}" for line in found), "")


@dataclass(frozen=True)
class StalledService:
    """How a trial sees the service of which one member stalls."""

    members: Sequence[ServiceMachine]
    """The member that stalls comes first."""
    state: Callable[[], str]
    """Returns what the probes of the first member say. Starts it again if it has ended, as kubelet does."""
    recover: Callable[[], float]
    """Waits until all members are ready, and returns the seconds that this took."""
    more: Callable[[], float]
    """Waits until the service has acknowledged further operations."""
    history: Callable[[], list[ClientOperation]]
    aliases: Sequence[str] = ()
    """How the others' logs name the first member, beside its name and address."""


def stalled(service: StalledService, stall: Stall) -> list[str]:
    """Lets the first member of a service stall under load, until all are ready. Returns notes for the report."""
    began = time.monotonic()
    notes = stall.hold(service)
    ended = time.monotonic()
    time.sleep(SETTLE)
    service.recover()
    back = time.monotonic() - ended
    service.more()
    history = service.history()
    notes.append(f"nothing was acknowledged for {silence.longest(history, began):.1f} s")
    if found := degradation(history, began, ended):
        notes.append(f"answers took {found.absolute:.3f} s longer, {found.relative:.1f} times as long as before")
    return [*notes, f"all were ready {back:.0f} s after the end of the fault"]


def _fill(machine: ServiceMachine) -> None:
    machine.run(["sh", "-c", _FILL, "sh", _mount_point(machine)])


def _free(machine: ServiceMachine) -> None:
    machine.run(["rm", "--force", f"{_mount_point(machine)}/filler"])


def _mount_point(machine: ServiceMachine) -> str:
    if not machine.disk_path:
        raise Broken(f"{machine.name} has no disk of its own")
    return machine.disk_path


def _slow_down(machine: ServiceMachine) -> None:
    _limit(machine, SLOW)


def _speed_up(machine: ServiceMachine) -> None:
    _limit(machine, 0)


def _limit(machine: ServiceMachine, writes: int) -> None:
    if not machine.disk:
        raise Broken(f"{machine.name} has no disk of its own")
    machine.disk.limit(writes)


PAUSE = Stall(ServiceMachine.freeze, ServiceMachine.thaw)
FULL_DISK = Stall(_fill, _free)
SLOW_DISK = Stall(_slow_down, _speed_up)
UNHEARD = Stall(ServiceMachine.mute, ServiceMachine.unmute)
