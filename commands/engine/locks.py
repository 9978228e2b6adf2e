"""Removes stale locks that killed runs have left on a stack.

Pulumi locks a stack with a file that contains its host name and process id. A killed run leaves the file behind, and
Pulumi rejects every later run until `pulumi cancel`. Another process may have the same id by now, so the engine's guard
also records the boot id and the start time of the engine (commands/engine/engine_guard.py).
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

from commands.stack import Workspace
from toolchain.process_identity import ProcessIdentity, is_alive, program_name, read_identity


def remove_stale(workspace: Workspace) -> bool:
    """Removes the stale locks of a workspace's stack. Returns False if there were none."""
    state = workspace.state_file
    if state is None:
        return False
    record = read_identity(workspace.engine_record)
    stale = [lock for lock in directory(state).glob("*.json") if is_stale(lock, record)]
    for lock in stale:
        lock.unlink(missing_ok=True)
        lock.with_name(f"{lock.name}.attrs").unlink(missing_ok=True)
    return bool(stale)


def directory(state: Path) -> Path:
    """Returns the directory of the locks of a stack, by the file of its state."""
    project, engine = state.parent, state.parents[2]
    return engine / "locks" / "organization" / project.name / state.stem


def is_stale(lock: Path, record: ProcessIdentity | None) -> bool:
    """Whether the engine that holds the lock has ended. An engine on another host counts as running.

    `record` identifies the last engine that a command of Quorate ran on the stack. If another process took the lock,
    for example the user's own `pulumi`, the lock counts as held while a Pulumi process with the lock's process id runs.
    """
    try:
        owner = json.loads(lock.read_text(encoding="utf-8"))
        host, pid = str(owner["hostname"]), int(owner["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if host != socket.gethostname():
        return False
    if record and (record.host, record.pid) == (host, pid):
        return not record.is_running
    name = program_name(pid)
    return not is_alive(pid) or not (name == "" or name.startswith("pulumi"))
