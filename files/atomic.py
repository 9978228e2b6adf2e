"""Writes a file in one step: a reader sees the old content or the new one, never a part.

The content is on the disk before the name is, so that neither a full disk nor a power failure leaves an empty file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE


def write(path: Path, text: str) -> None:
    """Writes `text` to `path` as UTF-8, and makes the directory where it is missing.

    A failed write leaves the old file as it was and raises OSError, which names `path`. An existing file keeps its
    mode.
    """
    with _unfinished(path, text, 0o666) as unfinished:
        if path.exists():
            unfinished.chmod(S_IMODE(path.stat().st_mode))
        unfinished.replace(path)


def create(path: Path, text: str, mode: int) -> bool:
    """Writes a new file. Returns False if the file exists; it is not changed.

    Of two processes that create the same file, one succeeds. A failed write leaves no file and raises OSError.
    """
    if path.exists():
        return False
    with _unfinished(path, text, mode) as unfinished:
        try:
            path.hardlink_to(unfinished)  # fails if the file exists, which a rename does not
        except FileExistsError:
            return False
    return True


@contextmanager
def _unfinished(path: Path, text: str, mode: int) -> Generator[Path]:
    """A complete file beside `path`, which becomes `path` in the context; deleted at the end if it is left."""
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
    """Makes a rename permanent."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
