"""Receives a backup of Galera on standard input, into the volume of backups, as if it had been made there.

`python3 -c TEXT NAME BYTES` runs in a pod that mounts the volume (operations/restoration/volume_pod.py). Standard input
is an archive of tar in parts, each with its length before it: 4 bytes, the most significant first. A part of length 0
ends it, because the connection cannot. A backup of this name that is whole needs no input.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BACKUPS = Path("/var/lib/mysql-backup")
RECEIVED = "received"
"""Directory of a backup that is being received."""
DIGESTS = "files.sha256"
"""File of a backup with the digests of its files (galera_backup/content.py)."""
COPIED = "copied"
"""Empty file in a backup that is in the object store (galera_copies.py)."""


class Refused(Exception):
    """The backup is not received. The message gives the reason."""


def receive(name: str, size: int, source: BinaryIO) -> None:
    """Receives the backup `name` of `size` bytes, unless it is there and whole. Raises Refused, or OSError."""
    kept, fresh = BACKUPS / name, BACKUPS / RECEIVED
    if (kept / DIGESTS).exists() and not damage(kept):
        say(f"{name} is there already, and its files have their digests")
        return
    shutil.rmtree(fresh, ignore_errors=True)
    free = os.statvfs(BACKUPS).f_bavail * os.statvfs(BACKUPS).f_frsize
    if free < size:
        raise Refused(f"{BACKUPS} has {free >> 20} MiB free; {size >> 20} MiB are needed")
    fresh.mkdir(mode=0o700)
    try:
        unpack(fresh, source)
        if problem := damage(fresh / name):
            raise Refused(f"{name} did not arrive as it was: {problem}")
        (fresh / name / COPIED).touch()
        subprocess.run(["sync", "--file-system", str(BACKUPS)], check=True)
        shutil.rmtree(kept, ignore_errors=True)
        (fresh / name).rename(kept)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    say(f"{name} was received, and its files have their digests")


def unpack(directory: Path, source: BinaryIO) -> None:
    """Unpacks an archive. Raises Refused if it is not complete."""
    command = ["tar", "--extract", f"--directory={directory}", "--no-same-owner", "--file=-"]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE) as tar:
            for part in parts(source):
                if tar.stdin:
                    tar.stdin.write(part)
    except BrokenPipeError:
        raise Refused("tar has ended before the archive did") from None
    if tar.returncode:
        raise Refused(f"the archive was not unpacked: tar ended with {tar.returncode}")


def parts(source: BinaryIO) -> Iterator[bytes]:
    """Yields the parts of the archive. Raises Refused if the input ends before."""
    while length := int.from_bytes(exactly(source, 4), "big"):
        yield exactly(source, length)


def exactly(source: BinaryIO, length: int) -> bytes:
    found = source.read(length)
    if len(found) < length:
        raise Refused("the connection ended before the archive did")
    return found


def damage(backup: Path) -> str:
    """Returns which files of a backup lack or have other content than its digests say; empty if none."""
    command = ["sha256sum", "--check", "--quiet", "--strict", DIGESTS]
    done = subprocess.run(command, cwd=backup, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-400:]


def main(name: str, size: int) -> int:
    """Receives a backup alone. Returns 0, or 1 if it was refused, with the reason on standard error."""
    try:
        with (BACKUPS / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused("another backup or restoration runs") from None
            receive(name, size, sys.stdin.buffer)
    except (Refused, OSError, subprocess.CalledProcessError) as error:
        say(str(error))
        return 1
    return 0


def say(text: str) -> None:
    print(f"galera-receive: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
