"""The command with its guard: a process group that does not outlive its deadline."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
import subprocess
import time
from contextlib import suppress
from typing import NoReturn

from .state import now, say

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
"""Signals that this program and the guard block. This program waits for them."""
_END = 10
"""Seconds that killed processes may take to end. One that waits for its disk ends later."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PRCTL = ctypes.CDLL(None).prctl


def adopt() -> None:
    """Makes this process the parent of processes whose own parent has ended, so that it sees them end."""
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


class Guarded:
    """A running command. The calling process must have called `adopt`."""

    def __init__(self, command: list[str], deadline: float) -> None:
        read, self._pipe = os.pipe()
        self._group = os.fork()
        if not self._group:
            os.close(self._pipe)
            _guard(read, command, deadline)
        # Guard and parent both do this, because either may be first.
        with suppress(ProcessLookupError):
            os.setpgid(self._group, self._group)
        os.close(read)
        os.set_blocking(self._pipe, False)

    def extend(self, deadline: float) -> None:
        """Gives the guard a later deadline. `code` shows a guard that has ended; one that is stopped does not read."""
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._pipe, struct.pack("d", deadline))

    @property
    def code(self) -> int | None:
        """The exit code of the command; None while it runs. The guard is not reaped, so that the group keeps its id."""
        ended = os.waitid(os.P_PID, self._group, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status

    def terminate(self) -> None:
        """Asks the processes of the command to end. The guard ignores the signal."""
        os.killpg(self._group, signal.SIGTERM)

    def kill(self) -> bool:
        """Kills the whole group. Returns whether none of its processes is left after `_END` seconds at most."""
        end = now() + _END
        os.killpg(self._group, signal.SIGKILL)
        while now() < end:
            with suppress(ChildProcessError):
                while os.waitpid(-self._group, os.WNOHANG)[0]:
                    pass
            try:
                os.killpg(self._group, 0)
            except ProcessLookupError:
                os.close(self._pipe)
                return True
            except PermissionError:  # one of root's is left, such as Cinder's helper, which ends when nobody asks it
                pass
            time.sleep(0.05)
        return False


def _guard(pipe: int, command: list[str], deadline: float) -> NoReturn:
    """Runs the command and exits as it does. Kills the process group if no later deadline comes in time."""
    code = 1
    try:
        os.setpgid(0, 0)
        guard = os.getpid()
        child = subprocess.Popen(command, preexec_fn=lambda: _bind(guard))  # noqa: PLW1509 - there is one thread
        while (ended := child.poll()) is None:
            if select.select([pipe], [], [], max(0.0, min(0.5, deadline - now())))[0]:
                written = os.read(pipe, 4096)
                if not written:
                    os.killpg(0, signal.SIGKILL)
                deadline = struct.unpack("d", written[-8:])[0]
            if now() >= deadline:
                say("the guard kills the command")
                os.killpg(0, signal.SIGKILL)
        code = ended if ended >= 0 else 128 - ended
    except OSError as error:
        say(f"the guard failed: {error}")
    finally:
        os._exit(code)


def _bind(parent: int) -> None:
    """Lets the kernel kill this process when its parent ends, and unblocks signals."""
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
