"""Child processes that end with the thread that started them.

Each child runs in its own session, so that Ctrl-C reaches only this program, which then stops the children. On Linux,
the kernel kills a child when the thread that started it ends for any reason. Start children in a thread that runs for
as long as the children are needed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
"""The C library, loaded before any fork, because loading a library between fork and exec is not safe."""


@dataclass
class ChildProcess:
    """A child process with its name and its log file."""

    name: str
    log: Path
    child: subprocess.Popen[bytes]

    @property
    def has_ended(self) -> bool:
        """Whether the program has exited."""
        return self.child.poll() is not None

    def log_tail(self, lines: int = 8) -> str:
        """Returns the last lines of the program's log, indented for a message."""
        text = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"    {line[:300]}" for line in text[-lines:])


@dataclass
class Processes:
    """Programs that run in one directory and are stopped together, in reverse order of their start."""

    directory: Path
    running: list[ChildProcess] = field(default_factory=list[ChildProcess])

    def start(self, name: str, command: Sequence[str | Path]) -> ChildProcess:
        """Starts a program in the directory and writes the program's output to `<name>.log`."""
        log = self.directory / f"{name}.log"
        with log.open("wb") as output:
            child = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one call into a loaded library
            )
        process = ChildProcess(name, log, child)
        self.running.append(process)
        return process

    @property
    def ended(self) -> ChildProcess | None:
        """The first started program that has exited; None if all programs are running."""
        return next((process for process in self.running if process.has_ended), None)

    def stop(self) -> None:
        """Kills all programs. No graceful shutdown is needed, because their data is temporary."""
        for process in reversed(self.running):
            if not process.has_ended:
                os.killpg(process.child.pid, signal.SIGKILL)
        for process in self.running:
            process.child.wait()
        self.running.clear()

    def peak_memory(self) -> int:
        """Returns the sum of the programs' peak memory in MiB; 0 if /proc does not exist."""
        total = 0
        for process in self.running:
            try:
                status = Path(f"/proc/{process.child.pid}/status").read_text(encoding="ascii")
            except OSError:
                continue
            total += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        return total // 1024


def _die_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
