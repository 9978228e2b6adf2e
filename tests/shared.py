"""What several worker processes of one test run need, made once: the first one makes it, the others wait for it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Returns a directory of this run that `make` has filled. Tests must not change what is in it.

    If `make` fails, the next caller tries again in an empty directory.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # each worker has a directory of its own in that of the run
    place = base / f"shared-{name}"
    place.mkdir(exist_ok=True)
    done = place / "done"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            attempt = len(list(place.glob("try-*")))
            directory = place / f"try-{attempt}"
            directory.mkdir()
            make(directory)
            done.write_text(directory.name, encoding="utf-8")
    return place / done.read_text(encoding="utf-8")
