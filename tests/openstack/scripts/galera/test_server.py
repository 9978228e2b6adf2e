"""What counts as progress of a server of Galera."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openstack.scripts.galera import server
from openstack.scripts.galera.server import Progress, Status
from tests.openstack.scripts.galera.positions import SYNCED


def test_progress_is_a_change_a_transfer_or_being_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(server.time, "monotonic", lambda: now[0])
    progress = Progress()
    joined = replace(SYNCED, state="3")

    def after(seconds: float, status: Status | None, *, transfers: bool = False, wrote: int = 7) -> float:
        now[0] += seconds
        return progress.seconds_without(status, transfers=transfers, wrote=wrote)

    assert after(10, joined) == 0
    assert after(10, joined) == 10
    assert after(10, replace(joined, committed=8)) == 0
    assert after(500, replace(joined, committed=8), transfers=True) == 0
    assert after(500, SYNCED) == 0
    assert after(500, SYNCED) == 0
    assert after(10, replace(SYNCED, desynced=True, state="2")) == 0
    assert after(10, None) == 0
    assert after(10, None) == 10
    assert after(10, None, wrote=8) == 0
