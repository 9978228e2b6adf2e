"""Removes rendered trees, reports, temporary directories and caches.

For a stack that is not a rendered lab, the state and build/<stack> are kept, because without the state its machines
would be unmanaged. Entries of build/ that Quorate did not create are kept too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError
from commands import build_directory, stack
from console.errors import UserError
from toolchain.install import STATE

CACHES = (".pytest_cache", ".ruff_cache", ".import_linter_cache", ".hypothesis")


@dataclass(frozen=True)
class Kept:
    """What `quorate clean` kept: stacks that are not rendered labs, and entries of build/ not created by Quorate."""

    stacks: list[str]
    foreign: list[str]


def clean_up(root: Path) -> int:
    """Removes rendered trees, reports, temporary directories and caches of a clone, and prints what was kept."""
    kept = clean(root, lambda name: stack.load(root, name).is_disposable)
    for name in kept.stacks:
        print(f"Kept build/{name} and its state: it is not a rendered lab. `make destroy STACK={name}` destroys it.")
    for name in kept.foreign:
        print(f"Kept build/{name}: it has no marker file {build_directory.MARKER}, so Quorate did not make it.")
    return 0


def clean(root: Path, is_disposable: Callable[[str], bool]) -> Kept:
    """Removes rendered trees, reports, temporary directories and caches of a clone. Returns what was kept.

    `is_disposable`: whether the stack with a name is a rendered lab, whose state may be removed.
    """
    build = root / "build"
    states = {path.stem: path for path in (_engine(root) / "stacks").glob("*/*.json")}
    kept = sorted(
        name for name, state in states.items() if _has_resources(state) and not _is_deletable(name, is_disposable)
    )
    foreign: list[str] = []
    for entry in sorted(build.iterdir()) if build.is_dir() else ():
        if entry.name in build_directory.REPORTS and entry.is_file():
            entry.unlink()
        elif entry.name not in (STATE.name, *kept) and not build_directory.remove(entry):
            foreign.append(entry.name)
    for entry in _state_entries(root):
        if not any(_belongs(entry, name) for name in kept):
            _remove(entry)
    for name in CACHES:
        _remove(root / name)
    return Kept(kept, foreign)


def forget(root: Path, name: str) -> None:
    """Removes the state and the directory build/<stack> of a stack whose resources are already destroyed."""
    for entry in _state_entries(root):
        if _belongs(entry, name):
            _remove(entry)
    build_directory.remove(root / "build" / name)


def _engine(root: Path) -> Path:
    return root / STATE / ".pulumi"


def _state_entries(root: Path) -> list[Path]:
    """Returns the files and directories of all stacks in the clone's state directory."""
    return [entry for area in ("stacks", "backups", "history") for entry in (_engine(root) / area).glob("*/*")]


def _is_deletable(name: str, is_disposable: Callable[[str], bool]) -> bool:
    """Whether a stack is a rendered lab. False if its file is missing or invalid: it may then be of any kind."""
    try:
        return is_disposable(name)
    except (UserError, InvalidStackError):
        return False


def _belongs(entry: Path, name: str) -> bool:
    """Whether an entry of the state directory belongs to a stack: `<stack>.json`, its backups, or `<stack>/`."""
    return entry.name == name or entry.name.startswith(f"{name}.json")


def _has_resources(state: Path) -> bool:
    """Whether a state file contains resources; True if the file cannot be read."""
    try:
        document = cast("dict[str, Any]", json.loads(state.read_text(encoding="utf-8")))
        latest = cast("dict[str, Any] | None", document["checkpoint"]["latest"])
        return bool(latest and latest.get("resources"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return True


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)
