"""Checksums of programs in the user's cache, to detect damaged files.

A directory of programs has a file `checksums.json` with size, modification time and SHA-256 of each program. A check
compares size and time, and reads a program only if its time differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypedDict, cast

NAME = "checksums.json"


class RecordedFile(TypedDict):
    """The recorded size, modification time and checksum of a program."""

    size: int
    """Size in bytes."""
    changed: int
    """Modification time in nanoseconds since 1970."""
    sha256: str


def write(directory: Path, files: Iterable[Path]) -> None:
    """Writes the checksums of files below a directory to its checksums.json.

    Raises OSError if a file cannot be read.
    """
    entries = {str(file.relative_to(directory)): _entry(file) for file in files}
    fresh = directory / f".{NAME}.fresh"
    fresh.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(directory / NAME)


def exist(directory: Path) -> bool:
    """Whether a directory has a valid checksums.json."""
    return bool(_read(directory))


def damaged(directory: Path) -> list[str]:
    """Returns the files in checksums.json that are missing or have changed, as paths relative to the directory.

    Returns [] if all files are intact.
    """
    found = _read(directory)
    bad = [name for name, entry in found.items() if not _is_intact(directory / name, entry)]
    touched = [name for name in found if name not in bad and _changed(directory / name) != found[name]["changed"]]
    if touched and not bad:  # same content with a new time: record the time, so that the next check is fast
        with suppress(OSError):  # for example a read-only cache
            write(directory, [directory / name for name in found])
    return sorted(bad)


def _is_intact(file: Path, entry: RecordedFile) -> bool:
    try:
        status = file.stat()
        if status.st_size != entry["size"]:
            return False
        return status.st_mtime_ns == entry["changed"] or _sha256(file) == entry["sha256"]
    except OSError:
        return False


def _read(directory: Path) -> dict[str, RecordedFile]:
    """Returns the content of a directory's checksums.json; {} if the file is missing or invalid."""
    try:
        document: object = json.loads((directory / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    entries = cast("dict[str, RecordedFile]", document)
    complete = all(
        isinstance(cast("object", entry), dict) and RecordedFile.__required_keys__ <= entry.keys()
        for entry in entries.values()
    )
    return entries if complete else {}


def _entry(file: Path) -> RecordedFile:
    return {"size": file.stat().st_size, "changed": _changed(file), "sha256": _sha256(file)}


def _changed(file: Path) -> int:
    return file.stat().st_mtime_ns


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
