"""Locks all states of a clone for a handover, in the form of Pulumi's own locks.

Pulumi writes its lock first and then looks for others, and so does this: of an update and a handover that begin at the
same time, one sees the other. The Pulumi CLI shows who has the lock: `quorate-handover@HOST:DIRECTORY`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from commands import stack
from commands.engine import locks
from files import atomic
from toolchain.install import STATE

_NAME = "handover.json"
_USER = "quorate-handover"


def states(root: Path) -> list[Path]:
    """Returns the files of all states of a clone, sorted."""
    return sorted((_engine(root) / "stacks").glob("*/*.json"))


def lock(root: Path, to: str) -> None:
    """Locks every state. `to`: the clone on the other machine.

    The lock names another host than this one, so that no command of Quorate takes it for that of a killed run.
    """
    content = {"pid": os.getpid(), "username": _USER, "hostname": to, "timestamp": datetime.now(UTC).isoformat()}
    for state in states(root):
        atomic.write_private(locks.directory(state) / _NAME, json.dumps(content))


def unlock(root: Path) -> None:
    """Removes the locks of `lock`."""
    for found in (_engine(root) / "locks").rglob(_NAME):
        found.unlink(missing_ok=True)


def unlock_words(directory: Path) -> Sequence[str]:
    """Returns a command that does so in a clone on another machine."""
    return ["find", str(directory / STATE / ".pulumi"), "-path", f"*/locks/*/{_NAME}", "-delete"]


def updates(root: Path) -> Iterator[str]:
    """Yields the updates that run on the states, after it has removed the locks of killed ones."""
    for state in states(root):
        locks.remove_stale(stack.main_workspace(root, state.stem, {}))
        for found in sorted(locks.directory(state).glob("*.json")):
            if found.name != _NAME:
                yield f"An update of stack {state.stem} runs{_owner(found)}; wait until it has ended."


def _owner(found: Path) -> str:
    """Returns who has a lock, as the end of a sentence; "" if it is not readable, or gone."""
    try:
        content = json.loads(found.read_text(encoding="utf-8"))
        return f" (process {content['pid']} of {content['username']}@{content['hostname']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _engine(root: Path) -> Path:
    return root / STATE / ".pulumi"
