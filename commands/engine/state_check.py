"""Checks a stack's state file before the engine reads it, and names the copy to restore if the file is damaged.

The engine writes the file in place, so a full disk leaves it empty or truncated. The engine keeps copies: the state
before the last write, a backup of every write, and a checkpoint of every finished operation.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from commands.stack import Stack, Workspace
from console.errors import UserError


def require_sound(stack: Stack, workspace: Workspace) -> None:
    """Raises UserError if the stack's state file is damaged. The message names the newest undamaged copy, if any."""
    file = workspace.state_file
    if file is None or not file.exists():
        return
    damage = damage_of(file)
    if damage:
        raise UserError(
            f"The state of {stack.name} is damaged: {_shown(file, workspace)} {damage}. Nothing was run.\n"
            f"{_remedy(stack, workspace, file)}"
        )


def damage_of(file: Path) -> str:
    """Returns what is wrong with a state file, as the end of a sentence; empty if the file is valid."""
    try:
        content = file.read_bytes()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not content.strip(b"\0 \n"):
        return "is empty"
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        return "is not complete JSON"
    return "" if _is_state(document) else "is not a state of the engine"


def _is_state(document: object) -> bool:
    """Whether a document has the structure of a state: a version, and a checkpoint whose resources have URNs."""
    if not isinstance(document, dict):
        return False
    fields = cast("dict[str, Any]", document)
    checkpoint = fields.get("checkpoint")
    if not isinstance(fields.get("version"), int) or not isinstance(checkpoint, dict):
        return False
    latest: Any = cast("dict[str, Any]", checkpoint).get("latest")
    if latest is None:
        return True
    resources: Any = cast("dict[str, Any]", latest).get("resources") or [] if isinstance(latest, dict) else None
    return isinstance(resources, list) and all(
        isinstance(each, dict) and isinstance(cast("dict[str, Any]", each).get("urn"), str)
        for each in cast("list[Any]", resources)
    )


def _remedy(stack: Stack, workspace: Workspace, file: Path) -> str:
    copies = sorted(_copies(file), key=lambda copy: copy.stat().st_mtime_ns, reverse=True)
    good = next((copy for copy in copies if not damage_of(copy)), None)
    if good:
        words = ["cp", _shown(good, workspace), _shown(file, workspace)]
        return f"Restore the newest good copy, then run the same command again:\n  {shlex.join(words)}"
    if stack.is_disposable:
        return f"There is no good copy. Start over: `make clean`, then `make up STACK={stack.name}`."
    return "There is no good copy beside it; restore the file from your own backup."


def _copies(file: Path) -> Iterator[Path]:
    """Yields the engine's copies of a state file: its .bak file, backups and checkpoints."""
    project, areas = file.parent.name, file.parent.parent.parent
    yield from file.parent.glob(f"{file.name}.bak")
    yield from (areas / "backups" / project / file.stem).glob("*.json")
    yield from (areas / "history" / project / file.stem).glob("*.checkpoint.json")


def _shown(path: Path, workspace: Workspace) -> str:
    """Returns a path for messages: relative to the clone, if it is in the clone."""
    return str(path.relative_to(workspace.root) if path.is_relative_to(workspace.root) else path)
