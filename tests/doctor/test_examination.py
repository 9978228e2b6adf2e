"""How many machines are examined at the same time."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from doctor import examination
from doctor.login import LoginError
from tests.stacks import full_size, parsed

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"


class Logins:
    """A stand-in for logins that counts those in progress. The first ones wait until there are as many as allowed."""

    def __init__(self, allowed: int) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()
        self._allowed = allowed
        self._reached = threading.Event()

    def read(self, *_arguments: object) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        if self._now >= self._allowed and not self._reached.is_set():
            time.sleep(0.3)  # for one more, if there is no limit
            self._reached.set()
        assert self._reached.wait(60)
        with self._lock:
            self._now -= 1
        raise LoginError("no answer", "turn it on")


@pytest.mark.parametrize(
    ("ssh", "most"),
    [
        ({}, examination.AT_ONCE),
        ({"jumpHost": {"host": "10.20.0.9", "hostKey": KEY}}, examination.AT_ONCE_BY_JUMP_HOST),
    ],
)
def test_a_jump_host_gets_few_logins_at_a_time(
    ssh: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logins = Logins(most)
    monkeypatch.setattr(examination, "read", logins.read)
    planned = plan(parsed(full_size("100", computes=70) | {"ssh": ssh}))
    assert len(planned.machines) > examination.AT_ONCE
    lines = examination.examine(planned)
    assert len(lines[0].findings) == len(planned.machines)
    assert logins.most == most
