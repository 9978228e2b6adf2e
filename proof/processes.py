"""Processes that never outlive whoever started them.

Each runs in a session of its own, so that Ctrl-C reaches only us and we end them in good order; on Linux the kernel
kills them when the thread that started them is gone, however that came. So they are to be started by a thread that
lives as long as they are wanted.
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
"""Loaded before any fork: between fork and exec there is no time to look for libraries."""


@dataclass
class Process:
    """One running program and where it writes what it says."""

    name: str
    log: Path
    child: subprocess.Popen[bytes]

    @property
    def has_ended(self) -> bool:
        return self.child.poll() is not None

    def last_words(self, lines: int = 8) -> str:
        """The end of its log, for a message."""
        text = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"    {line[:300]}" for line in text[-lines:])


@dataclass
class Processes:
    """Programs that run together in one directory, and end together, the last one first."""

    directory: Path
    running: list[Process] = field(default_factory=list[Process])

    def start(self, name: str, command: Sequence[str | Path]) -> Process:
        """Starts a program whose output goes to `<name>.log`."""
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
        process = Process(name, log, child)
        self.running.append(process)
        return process

    @property
    def ended(self) -> Process | None:
        """The first that has ended by itself, if one has."""
        return next((process for process in self.running if process.has_ended), None)

    def stop(self) -> None:
        """Ends all. Nothing of theirs is kept, so nothing is gained by asking politely."""
        for process in reversed(self.running):
            if not process.has_ended:
                os.killpg(process.child.pid, signal.SIGKILL)
        for process in self.running:
            process.child.wait()
        self.running.clear()

    def peak_memory(self) -> int:
        """The sum of the programs' largest memory so far, in MiB; 0 where the system does not tell."""
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
