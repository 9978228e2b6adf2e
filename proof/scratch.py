"""A temporary directory, removed when the proof ends. The next proof removes the directory of a killed one.

A running proof holds a lock on a file in its directory. A directory with a free lock is left over.
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
    """Removes the directories of killed proofs, then yields a temporary directory for the time of the context."""
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
