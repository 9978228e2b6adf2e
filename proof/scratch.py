"""The temporary directory of a proof, removed when the proof ends.

The next proof removes the directory of a killed one.

A running proof holds a lock on a file in its directory. So a directory whose lock is free belongs to a killed proof.
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
    """Removes the directories of killed proofs, then yields a temporary directory until the context ends."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        directory = Path(name)
        with (directory / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield directory


def sweep() -> None:
    """Removes the temporary directories that killed proofs left behind."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            with (left / LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue  # the directory belongs to another user or to a running proof
