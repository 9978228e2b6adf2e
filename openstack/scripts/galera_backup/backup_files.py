"""The directory of backups. Each backup is a directory, which gets its final name when it is complete and checked."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path("/var/lib/mysql")
BACKUPS = Path("/var/lib/mysql-backup")
SETTINGS = Path("/etc/mysql/backup.json")
ACCOUNT = Path("/etc/mysql/backup.cnf")
UNFINISHED = "unfinished"
SCRATCH = "scratch"
"""Directory for a copy that was restored to test a backup."""


class Refused(Exception):
    """A backup or a restoration does not begin, or a backup is not kept. The message gives the reason."""


@dataclass(frozen=True)
class Settings:
    """Settings of the jobs for backup and restoration, from /etc/mysql/backup.json."""

    member: str
    """DNS name of the member whose data is mounted."""
    domain: str
    """DNS name of the headless Service, which has the addresses of all members."""
    members: int
    """Number of members of the cluster."""
    keep: int
    """Number of complete backups that are kept."""


def settings() -> Settings:
    return Settings(**json.loads(SETTINGS.read_text(encoding="utf-8")))


@contextmanager
def alone() -> Generator[None]:
    """Holds the lock of the directory of backups. Raises Refused if another backup or restoration runs."""
    with (BACKUPS / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("another backup or restoration runs") from None
        yield


def complete() -> list[Path]:
    """Returns the complete backups, oldest first. Their names are the times in UTC at which they began."""
    return sorted(path for path in BACKUPS.iterdir() if (path / "backup.json").is_file() and path.name != UNFINISHED)


def record(backup: Path) -> dict[str, Any]:
    """Returns a backup's record (backup.json): its position, size and duration."""
    return json.loads((backup / "backup.json").read_text(encoding="utf-8"))


def size(directory: Path) -> int:
    """Returns the total size in bytes of a directory's files. A server may delete files meanwhile."""
    found = 0
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def require_space(directory: Path, needed: int) -> None:
    """Raises Refused if a directory's file system has less than `needed` free bytes."""
    free = os.statvfs(directory).f_bavail * os.statvfs(directory).f_frsize
    if free < needed:
        raise Refused(f"{directory} has {free >> 20} MiB free; {needed >> 20} MiB are needed")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a program and returns its output. Raises CalledProcessError if the program fails."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)


def sync(paths: Sequence[Path]) -> None:
    """Flushes directories and files to the disk (fsync)."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def say(text: str) -> None:
    print(f"galera-backup: {text}", file=sys.stderr, flush=True)
