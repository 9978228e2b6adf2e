"""Identifies a process by more than its process id, because the system reuses the ids of ended processes.

The standard library is enough, because the engine's guard runs without installed packages.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """Identity of a process: host, boot id, process id and start time. On a system without /proc, the boot id and the
    start time are empty."""

    host: str
    boot: str
    pid: int
    started: str
    """Clock ticks from the boot to the start of the process, which do not change when the clock is set."""

    @property
    def is_running(self) -> bool:
        """Whether the identified process is running on this host. Another process with the same id does not count."""
        return is_alive(self.pid) and identify(self.pid) == self

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def identify(pid: int) -> ProcessIdentity:
    """Returns the identity of the process with the id `pid`.

    It differs from that of a later process with the same id.
    """
    fields = status_fields(pid)
    return ProcessIdentity(socket.gethostname(), boot_id(), pid, fields[19] if fields else "")


def read_identity(file: Path) -> ProcessIdentity | None:
    """Reads an identity from a file with the JSON of `to_json`. Returns None if the file is missing or damaged."""
    try:
        return ProcessIdentity(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def is_alive(pid: int) -> bool:
    """Whether a process of any user with this id is running. A zombie counts as ended."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return status_fields(pid)[:1] not in (["Z"], ["X"])


def program_name(pid: int) -> str:
    """Returns the name of the program that a process runs; empty if the process does not exist or /proc is missing."""
    try:
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def children(pid: int) -> list[int]:
    """Returns the ids of a process's children, of all its threads; none if it has ended or /proc is missing."""
    found: list[int] = []
    with suppress(OSError):  # the process has ended
        for thread in (PROC / str(pid) / "task").iterdir():
            with suppress(OSError):  # the thread has
                found += map(int, (thread / "children").read_text(encoding="utf-8").split())
    return found


def status_fields(pid: int) -> list[str]:
    """Returns the fields of /proc/<pid>/stat from the third (state) on; empty if the file does not exist."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name in parentheses may contain any character


def boot_id() -> str:
    """Returns the id of the machine's boot; "" where the kernel has none."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
