"""Removes stale locks that killed runs have left on a stack.

Pulumi locks a stack with a file that names its process. A killed run leaves the file behind, and every later run is
refused until `pulumi cancel`. If the process ran on this machine and has ended, the lock is stale.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from commands.stack import Workspace


def remove_stale(workspace: Workspace) -> bool:
    """Removes the stack's stale locks. Returns whether there were any."""
    state = workspace.state_file
    if state is None or workspace.state_directory is None:
        return False
    directory = workspace.state_directory / ".pulumi" / "locks" / "organization" / state.parent.name / workspace.stack
    stale = [lock for lock in directory.glob("*.json") if is_stale(lock)]
    for lock in stale:
        lock.unlink(missing_ok=True)
        lock.with_name(f"{lock.name}.attrs").unlink(missing_ok=True)
    return bool(stale)


def is_stale(lock: Path) -> bool:
    """Whether the lock's process has ended. A process of another machine, or of another user, counts as running."""
    try:
        owner = json.loads(lock.read_text(encoding="utf-8"))
        if owner["hostname"] != socket.gethostname():
            return False
        os.kill(int(owner["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return False
