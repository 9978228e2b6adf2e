"""A member whose clock is wrong, by libfaketime: time namespaces of Linux do not change the time of day."""

from __future__ import annotations

from trials.services.stalls import Stall
from trials.services.testbed import ServiceMachine

LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
_OFFSET = "/etc/clock-offset"
_ENVIRONMENT = {
    "LD_PRELOAD": LIBRARY,
    "FAKETIME_TIMESTAMP_FILE": _OFFSET,
    "FAKETIME_CACHE_DURATION": "1",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # clocks that measure how long something takes stay right
}
OFF = "+60s"
"""How wrong the clock is: more than the time-outs of members for each other."""


def prepare(machine: ServiceMachine) -> None:
    """Lets the program of a machine have a clock of its own from its next start on."""
    _set(machine, "+0s")
    machine.environment = _ENVIRONMENT


def _set(machine: ServiceMachine, offset: str) -> None:
    machine.write(_OFFSET, f"{offset}\n")


WRONG = Stall(lambda machine: _set(machine, OFF), lambda machine: _set(machine, "+0s"))
"""The clock of a prepared member jumps ahead, and back at the end."""
