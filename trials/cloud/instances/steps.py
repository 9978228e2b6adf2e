"""The steps of a trial: each is named, timed and printed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

CONNECTING = 90
"""Seconds until a connection must work after its rules have changed, and until a device must be there."""


def step(name: str, act: Callable[..., Any], *arguments: Any) -> Any:
    """Calls `act` with the arguments, and prints the step's name and duration. Returns its result."""
    started = time.monotonic()
    result = act(*arguments)
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    return result


def until(what: str, holds: Callable[[], bool], limit: int = CONNECTING) -> None:
    """Waits until a condition holds. Raises RuntimeError after `limit` seconds."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {limit} s: {what}")
        time.sleep(1)
