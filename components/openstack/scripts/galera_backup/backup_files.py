"""The directory of backups: one directory for each, which gets its name when it is complete and has been checked."""

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


class Refused(Exception):
    """Why a backup or a restoration does not begin, or is not kept."""


@dataclass(frozen=True)
class Settings:
    """What the jobs are told of the cluster."""

    member: str
    """DNS name of the member whose data is mounted."""
    domain: str
    """DNS name that lists the addresses of all members."""
    members: int
    """Members of the whole cluster."""
    keep: int
    """Complete backups that are kept."""


def settings() -> Settings:
    return Settings(**json.loads(SETTINGS.read_text(encoding="utf-8")))


@contextmanager
def alone() -> Generator[None]:
    """Holds the lock of the directory. Raises Refused if a backup or a restoration runs."""
    with (BACKUPS / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("another backup or restoration runs") from None
        yield


def complete() -> list[Path]:
    """Returns the complete backups, the oldest first: their names are the times at which they began, in UTC."""
    return sorted(path for path in BACKUPS.iterdir() if (path / "backup.json").is_file() and path.name != UNFINISHED)


def record(backup: Path) -> dict[str, Any]:
    """Returns what a backup's record says of it."""
    return json.loads((backup / "backup.json").read_text(encoding="utf-8"))


def size(directory: Path) -> int:
    """Returns the bytes of all files in a directory, which a server may be changing."""
    found = 0
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def require_space(directory: Path, needed: int) -> None:
    """Raises Refused if a directory's file system has less than that many bytes."""
    free = os.statvfs(directory).f_bavail * os.statvfs(directory).f_frsize
    if free < needed:
        raise Refused(f"{directory} has {free >> 20} MiB free; {needed >> 20} MiB are needed")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a program. Raises CalledProcessError if it fails."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)


def sync(paths: Sequence[Path]) -> None:
    """Writes directories and files to the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def say(text: str) -> None:
    print(f"galera-backup: {text}", file=sys.stderr, flush=True)
