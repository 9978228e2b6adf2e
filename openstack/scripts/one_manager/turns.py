"""Takes turns with other pods: waits for the Lease, and runs the command while this pod holds it."""

from __future__ import annotations

import math
import signal
from contextlib import suppress

from . import state
from .guarded import SIGNALS, Guarded, adopt
from .lease import DEADLINE, DURATION, NO_ANSWER, PERIOD, Lease
from .state import now, say

KILL = DURATION - (DURATION - DEADLINE) * 0.4
"""Seconds after the last renewal at which the guard kills the command: 13, which is 3 s after SIGTERM, and 2 s before
another pod may take the Lease. Project figure."""
GRACE = 25
"""Seconds that the command may take to end when the pod ends. kubelet kills the pod after 30."""


class Turns:
    """The pod's part in the election."""

    def __init__(self, command: list[str]) -> None:
        self._command, self._lease = command, Lease()
        self._is_ending = False
        self._said = ""

    def run(self) -> int:
        """Runs until the command or this pod ends. Returns the exit code."""
        adopt()
        while True:
            while not self._take():
                self._pause(PERIOD, None)
                if self._is_ending:
                    return 0
            say(f"holds the Lease as {self._lease.identity}")
            code = self._hold()
            if code is not None:
                return code

    def _hold(self) -> int | None:
        """Runs the command. Returns the exit code of this program; None if it waits for the Lease again.

        If processes of the command are left, this program ends: with it the container ends, and all processes in it.
        """
        since = now()
        command = Guarded(self._command, self._lease.renewed + KILL)
        while True:
            deadline = self._lease.renewed + DEADLINE
            self._pause(min(PERIOD, max(0.0, deadline - now())), since)
            # Past its deadline, the command has not ended by itself.
            if self._is_ending or (command.code is not None and now() < self._lease.renewed + KILL):
                return self._leave(command, since)
            held = self._take(deadline)
            if held:
                command.extend(self._lease.renewed + KILL)
            elif held is False:
                say("lost the Lease")
                return None if command.kill() else 1
            elif now() >= deadline:
                say(f"could not renew the Lease for {DEADLINE:.0f} s")
                return None if self._end(command, since, self._lease.renewed + KILL) else 1

    def _leave(self, command: Guarded, since: float) -> int:
        """Ends the command if it still runs, and lets another pod take over. Returns the exit code."""
        code = command.code
        if code is not None:
            say(f"the command ended with {code}")
        # What the command has started may outlive it.
        if not (self._end(command, since, now() + GRACE, renews=True) if code is None else command.kill()):
            return 1
        with suppress(*NO_ANSWER):
            self._lease.release()
        return code or 0

    def _end(self, command: Guarded, since: float, until: float, *, renews: bool = False) -> bool:
        """Lets the command end until a time, then kills it. Returns whether no process of it is left."""
        command.terminate()
        while command.code is None and now() < until:
            self._pause(min(PERIOD, 0.2), since)
            if renews and now() >= self._lease.renewed + PERIOD:
                held = self._take(self._lease.renewed + KILL)
                if held is False:
                    break
                if held:
                    command.extend(self._lease.renewed + KILL)
        return command.kill()

    def _take(self, until: float = math.inf) -> bool | None:
        """Takes or renews the Lease. Returns whether this pod holds it; None without an answer until then.

        Says why not, once.
        """
        try:
            held = self._lease.take(until)
            said = "" if held else "waits: another pod holds the Lease"
        except NO_ANSWER as error:
            held, said = None, f"cannot take the Lease: {error}"
        if said and said != self._said:
            say(said)
        self._said = said
        return held

    def _pause(self, seconds: float, since: float | None) -> None:
        """Writes the state, and waits for the time to pass or for a signal. `since`: start of the command."""
        state.write(at=now(), answered=self._lease.answered, active=since)
        got = signal.sigtimedwait(SIGNALS, seconds)
        # A stopped process that goes on after its time gets a random number here (CPython 3.11 does not set it).
        if got and got.si_signo in (signal.SIGTERM, signal.SIGINT):
            self._is_ending = True
