"""A temporary directory that is removed at the end; after a killed proof, by the next one.

Its owner holds a lock in it. A directory with a free lock has no owner any more.
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
    """Creates a directory, and removes those without an owner."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        directory = Path(name)
        with (directory / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield directory


def sweep() -> None:
    """Removes the directories of killed proofs."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            with (left / LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue  # of another user, in use, or being created
