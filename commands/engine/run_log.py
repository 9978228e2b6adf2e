"""The file with everything that Pulumi prints while a command runs: build/<stack>/log/<time>.log.

Only the owner may read it. Pulumi replaces secret values by `[secret]` before it prints them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from commands import build_directory

DIRECTORY = "log"
KEPT = 30
"""Number of logs that are kept of a stack; older ones are deleted."""
RESERVED = 1 << 20
"""Bytes of the disk that are kept for a log while a command runs. Project figure, not measured."""
_PAUSE = 0.2
_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of Linux: reserves space behind the end of a file."""


def create(root: Path, stack: str, command: str, *, is_shown: bool) -> RunLog:
    """Creates the log of a command on a stack, and deletes old logs. `is_shown`: also print what is written to it."""
    directory = build_directory.of_stack(root, stack) / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    path = directory / f"{time}-{command}.log"
    path.touch(mode=0o600, exist_ok=False)
    for old in sorted(directory.glob("*.log"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return RunLog(path, is_shown=is_shown)


class RunLog:
    """The log of a command, which may run Pulumi several times."""

    def __init__(self, path: Path, *, is_shown: bool) -> None:
        self.path = path
        self.is_shown = is_shown

    @contextmanager
    def followed(self) -> Generator[None]:
        """Reserves space for the log, and prints what is appended to it until the context ends, if the log is shown.

        The engine writes into the file itself, not into a pipe of this process: it must be able to end in order if
        this process is killed. Raises OSError if the disk has no space for the log.
        """
        _reserve(self.path)
        try:
            with self._shown():
                yield
        finally:
            with suppress(FileNotFoundError):  # `destroy` deletes it with the directory of a rendered lab
                os.truncate(self.path, self.path.stat().st_size)

    @contextmanager
    def _shown(self) -> Generator[None]:
        if not self.is_shown:
            yield
            return
        ended = threading.Event()
        position = self.path.stat().st_size
        thread = threading.Thread(target=self._follow, args=(position, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _follow(self, position: int, ended: threading.Event) -> None:
        with self.path.open("rb") as file:
            file.seek(position)
            is_last = False
            while not is_last:
                is_last = ended.wait(_PAUSE)  # then read once more, to the end
                sys.stdout.write(file.read().decode("utf-8", errors="replace"))
                sys.stdout.flush()

    def tail(self, lines: int) -> list[str]:
        """Returns the last lines of the log."""
        return self.path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:]


def _reserve(path: Path) -> None:
    """Reserves space for a log, so that the last messages of Pulumi are in it even if the disk is full by then.

    Does nothing where the system or the file system cannot do so.
    """
    allocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if allocate is None:
        return
    with path.open("ab") as file:
        failed = allocate(file.fileno(), _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(RESERVED))
    number = ctypes.get_errno()
    if failed and number in (errno.ENOSPC, errno.EDQUOT):
        raise OSError(number, os.strerror(number), str(path))
