"""Faults with which a member neither serves nor ends: it pauses, its disk is full, or it hears and is not heard."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from trials.services.testbed import Broken, ServiceMachine

LENGTH = 60.0
"""Seconds that a fault lasts: longer than the time-outs of members for each other."""
SETTLE = 10.0
"""Seconds after a fault until the probes of a member say how it is now: those of a member that slept are old."""
_FILL = 'fallocate --length "$(df --block-size=1 --output=avail "$1" | tail -n 1)" "$1/filler" || true'


@dataclass(frozen=True)
class Stall:
    """A fault of one member: how it begins and how it ends."""

    begin: Callable[[ServiceMachine], None]
    end: Callable[[ServiceMachine], None]

    def hold(self, machine: ServiceMachine, state: Callable[[], str]) -> list[str]:
        """Keeps the fault up for LENGTH seconds.

        `state`: returns what the probes say of the member. Returns notes: the member, and each new state with its time.
        """
        started, seen, notes = time.monotonic(), state(), [machine.name]
        self.begin(machine)
        try:
            while time.monotonic() - started < LENGTH:
                if (now := state()) != seen:
                    notes.append(f"after {time.monotonic() - started:.0f} s: {now}")
                    seen = now
                time.sleep(1)
        finally:
            self.end(machine)
        return notes


def _fill(machine: ServiceMachine) -> None:
    machine.run(["sh", "-c", _FILL, "sh", _mount_point(machine)])


def _free(machine: ServiceMachine) -> None:
    machine.run(["rm", "--force", f"{_mount_point(machine)}/filler"])


def _mount_point(machine: ServiceMachine) -> str:
    if not machine.disk_path:
        raise Broken(f"{machine.name} has no disk of its own")
    return machine.disk_path


PAUSE = Stall(ServiceMachine.freeze, ServiceMachine.thaw)
FULL_DISK = Stall(_fill, _free)
UNHEARD = Stall(ServiceMachine.mute, ServiceMachine.unmute)
