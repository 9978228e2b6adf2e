"""The index of a stack's rendered tree: the files as the last completed `up` left them.

The engine compares the program with its state and never reads the tree, so it does not notice a file that was deleted
or edited. The index contains every file's size, times, mode and SHA-256 digest. A file is read again only if its size,
times or mode differ. Secret files have no digest, because the digest of a short secret could reveal the secret.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from files import atomic

AREAS = ("manifests", "machines", "secrets")
"""Directories below a stack's build directory that the engine's providers write."""

SECRETS = "secrets"


@dataclass(frozen=True)
class IndexEntry:
    """Size, times, mode and digest of one rendered file."""

    size: int
    modified: int
    """Nanoseconds since the epoch."""
    mode: int
    digest: str
    """SHA-256 in hexadecimal digits; empty for secret files."""
    changed: int = 0
    """Inode change time (ctime) in nanoseconds, which programs cannot set. It reveals edits that keep size and
    modification time, for example by a tool that preserves times."""

    def differs(self, other: IndexEntry) -> bool:
        """Whether the files of two entries differ in content or mode.

        For secret files, which have no digest, size and modification time stand for the content.
        """
        if self.digest:
            return (self.digest, self.mode) != (other.digest, other.mode)
        return (self.size, self.modified, self.mode) != (other.size, other.modified, other.mode)


Index = Mapping[str, IndexEntry]
"""Entries by path, relative to the stack's build directory."""


def scan(directory: Path, known: Index) -> dict[str, IndexEntry]:
    """Returns an entry for every file of the rendered tree, by path.

    A file is not read if its size, times and mode are those in `known`, an earlier index.
    """
    found: dict[str, IndexEntry] = {}
    for area in AREAS:
        for path in _files(directory / area):
            status = path.lstat()
            name = path.relative_to(directory).as_posix()
            entry = IndexEntry(status.st_size, status.st_mtime_ns, status.st_mode, "", status.st_ctime_ns)
            before = known.get(name)
            if before and entry == replace(before, digest=""):
                found[name] = before
            elif area == SECRETS or path.is_symlink():
                found[name] = entry
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[name] = replace(entry, digest=digest)
    return found


def read(file: Path) -> dict[str, IndexEntry] | None:
    """Reads the index of a rendered tree from a file. Returns None if the file is missing or damaged."""
    try:
        document = cast("dict[str, dict[str, Any]]", json.loads(file.read_text(encoding="utf-8")))
        return {path: IndexEntry(**entry) for path, entry in document.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def written(file: Path) -> datetime | None:
    """Returns when the index was written; None if there is none."""
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError:
        return None


def write(file: Path, index: Index) -> None:
    """Writes the index of a rendered tree to a file, as JSON."""
    atomic.write(file, json.dumps({path: asdict(entry) for path, entry in sorted(index.items())}))


def _files(directory: Path) -> Iterator[Path]:
    for place, _directories, names in os.walk(directory):
        for name in names:
            yield Path(place) / name
