"""Time, and the state of this pod, which the program writes for the probes."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_STATE, _CONNECTED = (Path(tempfile.gettempdir(), f"one-manager.{name}") for name in ("state", "connected"))


def now() -> float:
    """Returns the seconds since this machine booted, also those in which it slept. All times are of this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def say(text: str) -> None:
    """Writes a line to the pod's log."""
    print(f"one manager: {text}", file=sys.stderr, flush=True)


def write(*, at: float | None, answered: float, active: float | None) -> None:
    """Writes the state.

    `at`: now; None if this program does not run any more. `answered`: the last answer of the API server. `active`: the
    start of the command; None if the pod waits.
    """
    fresh = _STATE.with_suffix(".fresh")
    fresh.write_text(json.dumps({"at": at, "answered": answered, "active": active}), encoding="ascii")
    fresh.replace(_STATE)


def read() -> dict[str, Any]:
    """Returns the state as it was written last. Raises FileNotFoundError before."""
    found: dict[str, Any] = json.loads(_STATE.read_text(encoding="ascii"))
    return found


def note_connection(active: float) -> None:
    """Notes that the command that started at a time has connected to RabbitMQ."""
    _CONNECTED.write_text(str(active), encoding="ascii")


def has_connected(active: float) -> bool:
    """Whether the command that started at a time has ever connected to RabbitMQ."""
    return _CONNECTED.exists() and _CONNECTED.read_text(encoding="ascii") == str(active)
