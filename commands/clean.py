"""Removes what a clone has made and can make again: rendered trees, reports, scratch, caches.

A state that stands for more than rendered files is no rubbish: machines would be left that nobody knows of. Such a
stack keeps its state and its directory.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError
from toolchain.progress import UserError

CACHES = (".pytest_cache", ".ruff_cache", ".hypothesis")


def clean(root: Path, is_disposable: Callable[[str], bool]) -> list[str]:
    """Cleans, and returns the stacks that were kept."""
    build = root / "build"
    stacks = build / "state" / ".pulumi" / "stacks"
    states = {path.stem: path for path in stacks.glob("*/*.json")}
    kept = sorted(name for name, state in states.items() if _has_resources(state) and not _is_lost(name, is_disposable))
    for entry in build.glob("*") if build.is_dir() else ():
        if entry.name not in ("state", *kept):
            _remove(entry)
    for area in ("stacks", "backups", "history"):
        for entry in (build / "state" / ".pulumi" / area).glob("*/*"):
            if not any(_belongs(entry, name) for name in kept):
                _remove(entry)
    for name in CACHES:
        _remove(root / name)
    return kept


def _is_lost(name: str, is_disposable: Callable[[str], bool]) -> bool:
    """Whether a stack may be thrown away; one whose file is gone or unsound may be anything, so it may not."""
    try:
        return is_disposable(name)
    except (UserError, InvalidStackError):
        return False


def _belongs(entry: Path, name: str) -> bool:
    """Whether an entry of the state directory is a stack's: `<stack>.json`, its backups and marks, or `<stack>/`."""
    return entry.name == name or entry.name.startswith(f"{name}.json")


def _has_resources(state: Path) -> bool:
    """Whether a state knows of any resource; one that cannot be read may know of some."""
    try:
        document = cast("dict[str, Any]", json.loads(state.read_text(encoding="utf-8")))
        latest = cast("dict[str, Any] | None", document["checkpoint"]["latest"])
    except (OSError, ValueError, KeyError):
        return True
    return bool(latest and latest.get("resources"))


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)
