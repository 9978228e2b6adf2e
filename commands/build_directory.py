"""The directories under build/: who made them, and which may be deleted.

`build/<stack>` holds the results of a stack. Quorate's own directories begin with a dot, which no stack's name does.
Every directory that the commands make carries a marker file, and nothing without one is deleted: a user may keep files
of their own under build/.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from files import atomic

MARKER = ".quorate"
REPORTS = ("review.md", "proof.md")
"""Files of `quorate review` and `quorate prove` that cover several stacks."""

TEXT = "Quorate made this directory. `make clean` and `make destroy` may delete it and everything in it.\n"


def of_stack(root: Path, name: str) -> Path:
    """The directory of a stack's results; makes it if it is missing."""
    return make(root / "build" / name)


def make(directory: Path) -> Path:
    """Makes a directory with a marker. One that already has content is returned as it is: Quorate did not make it."""
    directory.mkdir(parents=True, exist_ok=True)
    if not any(directory.iterdir()):
        atomic.write(directory / MARKER, TEXT)
    return directory


def remove(directory: Path) -> bool:
    """Deletes a directory that carries the marker or is empty. Returns whether it is gone."""
    if directory.is_symlink():
        return False
    if not directory.exists():
        return True
    if not directory.is_dir() or not ((directory / MARKER).is_file() or not any(directory.iterdir())):
        return False
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()
