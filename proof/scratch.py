"""A temporary directory that is gone in the end, even after the proof was killed: the next one sweeps it away.

Its owner holds a lock in it. A directory whose lock is free has lost its owner.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "quorate-proof-"
LOCK = "owner.lock"


@contextmanager
def scratch() -> Generator[Path]:
    """A directory of our own, after those were removed that nobody owns any more."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        directory = Path(name)
        with (directory / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield directory


def sweep() -> None:
    """Removes what a killed proof has left behind."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            with (left / LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue  # somebody else's, or in use, or just being made
