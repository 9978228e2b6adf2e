"""Locks that killed runs have left on a stack.

Pulumi locks a stack by a file that names its process. A run that was killed leaves it behind, and every later one is
refused until somebody finds out about `pulumi cancel`. Where the process was one of this machine and is no more, the
lock guards nothing.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from commands.stack import Workspace


def drop_dead(workspace: Workspace) -> bool:
    """Removes the locks of processes that are gone; tells whether there were any."""
    state = workspace.state_file
    if state is None or workspace.state_directory is None:
        return False
    directory = workspace.state_directory / ".pulumi" / "locks" / "organization" / state.parent.name / workspace.stack
    dead = [lock for lock in directory.glob("*.json") if is_dead(lock)]
    for lock in dead:
        lock.unlink(missing_ok=True)
        lock.with_name(f"{lock.name}.attrs").unlink(missing_ok=True)
    return bool(dead)


def is_dead(lock: Path) -> bool:
    """Whether a lock's process has certainly ended; another machine's, or one we cannot ask about, counts as alive."""
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
