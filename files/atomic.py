"""Writes a file in one step: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_IMODE


def write(path: Path, text: str) -> None:
    """Writes `text` to `path` as UTF-8, and makes the directory where it is missing.

    The file is written beside its place and renamed. A failed write leaves the old file as it was. An existing file
    keeps its mode.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        if path.exists():
            unfinished.chmod(S_IMODE(path.stat().st_mode))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
