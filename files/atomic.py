"""Writes a file atomically: another process reads either the old or the new content, never a part of the new content.

The content is synced to disk before the rename, so that neither a full disk nor a power failure leaves an empty file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE


def write(path: Path, text: str) -> None:
    """Writes `text` to `path` as UTF-8, and creates the directory if it is missing.

    A failed write leaves the old file unchanged and raises OSError with the file name. An existing file keeps its mode.
    """
    with _unfinished(path, text, 0o666) as unfinished:
        if path.exists():
            unfinished.chmod(S_IMODE(path.stat().st_mode))
        unfinished.replace(path)


def create(path: Path, text: str, mode: int) -> bool:
    """Writes a new file. Returns False and changes nothing if the file exists.

    If two processes create the same file, one succeeds. A failed write leaves no file and raises OSError.
    """
    if path.exists():
        return False
    with _unfinished(path, text, mode) as unfinished:
        try:
            path.hardlink_to(unfinished)  # fails if the file exists, unlike a rename
        except FileExistsError:
            return False
    return True


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, whatever the mode of an earlier file.

    A failed write leaves the old file unchanged and raises OSError with the file name.
    """
    with _unfinished(path, text, 0o600) as unfinished:
        unfinished.replace(path)


@contextmanager
def _unfinished(path: Path, text: str, mode: int) -> Generator[Path]:
    """Yields the path of a complete temporary file in the directory of `path`, for the caller to rename or link.

    A temporary file that still exists when the context ends is deleted.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            yield unfinished
            _sync_directory(path.parent)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is None:  # a failed write() or fsync() names no file
            error.filename = str(path)
        raise


def _sync_directory(directory: Path) -> None:
    """Syncs a directory to disk, so that a rename in it survives a power failure."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
