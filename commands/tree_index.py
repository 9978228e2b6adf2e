"""The index of a stack's rendered tree: what the last completed `up` left on disk.

The engine compares the program with its state and never reads the tree, so it does not notice a file that was deleted
or edited. The index has every file's size, times, mode and SHA-256; a file is read again only if one of the others
differs. Secret files have no digest, because a digest of a short secret discloses it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from files import atomic

AREAS = ("manifests", "machines", "secrets")
"""Directories of a stack's build directory that the engine's providers write."""

SECRETS = "secrets"


@dataclass(frozen=True)
class Entry:
    """A file as it was found."""

    size: int
    modified: int
    """Nanoseconds since the epoch."""
    mode: int
    digest: str
    """SHA-256 in hexadecimal digits; empty for secret files."""
    changed: int = 0
    """The kernel's own time of change in nanoseconds, which programs cannot set: after a clock was set back, or with a
    tool that keeps times, an edited file may have its old size and time."""

    def differs(self, other: Entry) -> bool:
        """Whether two entries of one path show different files."""
        if self.digest:
            return (self.digest, self.mode) != (other.digest, other.mode)
        return (self.size, self.modified, self.mode) != (other.size, other.modified, other.mode)


Index = Mapping[str, Entry]
"""Entries by path, relative to the stack's build directory."""


def scan(directory: Path, known: Index) -> dict[str, Entry]:
    """Returns every file of the tree. Files that `known` has with the same size, time and mode are not read."""
    found: dict[str, Entry] = {}
    for area in AREAS:
        for path in _files(directory / area):
            status = path.lstat()
            name = path.relative_to(directory).as_posix()
            entry = Entry(status.st_size, status.st_mtime_ns, status.st_mode, "", status.st_ctime_ns)
            before = known.get(name)
            if before and entry == replace(before, digest=""):
                found[name] = before
            elif area == SECRETS or path.is_symlink():
                found[name] = entry
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[name] = replace(entry, digest=digest)
    return found


def read(file: Path) -> dict[str, Entry] | None:
    """Reads an index; None if it is missing or damaged."""
    try:
        document = cast("dict[str, dict[str, Any]]", json.loads(file.read_text(encoding="utf-8")))
        return {path: Entry(**entry) for path, entry in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write(file: Path, index: Index) -> None:
    """Writes an index."""
    atomic.write(file, json.dumps({path: asdict(entry) for path, entry in sorted(index.items())}))


def _files(directory: Path) -> Iterator[Path]:
    for place, _directories, names in os.walk(directory):
        for name in names:
            yield Path(place) / name
