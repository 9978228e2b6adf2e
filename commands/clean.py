"""Removes rendered trees, reports, temporary directories and caches.

State of a stack that is not a rendered lab is kept, with its directory: without it, live machines could be left
unmanaged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError
from commands import stack
from toolchain.progress import UserError

CACHES = (".pytest_cache", ".ruff_cache", ".import_linter_cache", ".hypothesis")


def clean_up(root: Path) -> int:
    """Cleans a clone and prints the stacks that were kept."""
    for name in clean(root, lambda name: stack.load(root, name).is_disposable):
        print(f"Kept build/{name} and its state: it is not a rendered lab. `make destroy STACK={name}` destroys it.")
    return 0


def clean(root: Path, is_disposable: Callable[[str], bool]) -> list[str]:
    """Cleans a clone and returns the stacks that were kept."""
    build = root / "build"
    stacks = build / "state" / ".pulumi" / "stacks"
    states = {path.stem: path for path in stacks.glob("*/*.json")}
    kept = sorted(
        name for name, state in states.items() if _has_resources(state) and not _is_deletable(name, is_disposable)
    )
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


def _is_deletable(name: str, is_disposable: Callable[[str], bool]) -> bool:
    """Whether a stack can be deleted. False if its file is missing or invalid: it may then be any kind of stack."""
    try:
        return is_disposable(name)
    except (UserError, InvalidStackError):
        return False


def _belongs(entry: Path, name: str) -> bool:
    """Whether an entry of the state directory belongs to a stack: `<stack>.json`, its backups, or `<stack>/`."""
    return entry.name == name or entry.name.startswith(f"{name}.json")


def _has_resources(state: Path) -> bool:
    """Whether a state contains resources; true if it cannot be read."""
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
