"""Creates and deletes the directories under build/.

`build/<stack>` contains the results of a stack. The names of Quorate's other directories begin with a dot, unlike any
stack's name. The commands put a marker file into every directory that they create. They do not delete a directory that
has content but no marker file, because users may keep their own files under build/.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from files import atomic

MARKER = ".quorate"
REPORTS = ("review.md", "proof.md")
"""Files directly under build/ that `quorate review` and `quorate prove` write for several stacks together."""

TEXT = "Quorate made this directory. `make clean` and `make destroy` may delete it and everything in it.\n"


def of_stack(root: Path, name: str) -> Path:
    """Returns the directory build/<stack>, which contains a stack's results; creates the directory if it is missing."""
    return make(root / "build" / name)


def make(directory: Path) -> Path:
    """Creates a directory with the marker file, and returns its path. A directory with other content gets no marker."""
    directory.mkdir(parents=True, exist_ok=True)
    if not any(directory.iterdir()):
        atomic.write(directory / MARKER, TEXT)
    return directory


def remove(directory: Path) -> bool:
    """Deletes a directory if it contains the marker file or is empty.

    Returns True if the directory no longer exists.
    """
    if directory.is_symlink():
        return False
    if not directory.exists():
        return True
    if not directory.is_dir() or not ((directory / MARKER).is_file() or not any(directory.iterdir())):
        return False
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()
