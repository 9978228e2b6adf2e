"""Identifies a process beyond its number, which the system gives to another process after its end or after a boot.

Imports only the standard library: the engine's guard starts with it.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """A process: host, boot and start. `boot` and `started` are empty on systems without /proc."""

    host: str
    boot: str
    pid: int
    started: str
    """Clock ticks between the boot and the process's start; setting the clock does not change them."""

    @property
    def is_running(self) -> bool:
        """Whether this very process still runs on this host."""
        return is_alive(self.pid) and identify(self.pid) == self

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def identify(pid: int) -> ProcessIdentity:
    """Returns the identity of a process of this host."""
    fields = status_fields(pid)
    return ProcessIdentity(socket.gethostname(), _boot(), pid, fields[19] if fields else "")


def read_identity(file: Path) -> ProcessIdentity | None:
    """Reads a file that `to_json` wrote; None if it is missing or damaged."""
    try:
        return ProcessIdentity(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def is_alive(pid: int) -> bool:
    """Whether a process of this number runs, of any user. A zombie has ended."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return status_fields(pid)[:1] not in (["Z"], ["X"])


def program_name(pid: int) -> str:
    """Name of a process's program; empty if the system does not tell."""
    try:
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def status_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name, the third field (state) first; empty if there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name in parentheses may contain any character


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
