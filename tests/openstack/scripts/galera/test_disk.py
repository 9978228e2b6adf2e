"""When a disk counts as slow, and which members are dispensable because of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from openstack.scripts.galera import disk
from openstack.scripts.galera.disk import FAST, SLOW, WINDOW, Peer, SyncSpeed, dispensable

WHOLE, SLOW_TOO, AWAY = Peer(True, False), Peer(True, True), Peer(False, False)


@dataclass
class Clock:
    """A clock of which syncs take time."""

    now: float = 0.0
    sync: float = 0.01
    descriptors: list[int] = field(default_factory=list[int])

    def fsync(self, descriptor: int) -> None:
        self.descriptors.append(descriptor)
        self.now += self.sync

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(disk.os, "fsync", made.fsync)
    return made


def measured(speed: SyncSpeed, clock: Clock, seconds: float, sync: float) -> list[bool]:
    """Whether the disk is slow after each sync, for so many seconds in which a sync takes `sync`."""
    clock.sync, ends, found = sync, clock.now + seconds, list[bool]()
    while clock.now < ends:
        speed.measure()
        found.append(speed.slow)
        clock.now += disk.PAUSE
    return found


def test_a_disk_is_slow_once_most_syncs_are_and_fast_once_most_are(tmp_path: Path, clock: Clock) -> None:
    speed = SyncSpeed(tmp_path / "speed.log", clock)
    assert not any(measured(speed, clock, 30, FAST))
    slow = measured(speed, clock, 60, SLOW)
    assert 2 <= slow.index(True) * (SLOW + disk.PAUSE) < WINDOW
    assert all(measured(speed, clock, 60, (SLOW + FAST) / 2)), "between slow and fast, nothing changes"
    fast = measured(speed, clock, 60, 0.9 * FAST)
    assert 2 <= fast.index(False) * (FAST + disk.PAUSE) < WINDOW
    assert not any(measured(speed, clock, 60, (SLOW + FAST) / 2))


def test_a_disk_is_not_judged_by_its_first_syncs(tmp_path: Path, clock: Clock) -> None:
    assert not any(measured(SyncSpeed(tmp_path / "speed.log", clock), clock, WINDOW - 1, SLOW))


def test_single_slow_syncs_are_no_slow_disk(tmp_path: Path, clock: Clock) -> None:
    speed = SyncSpeed(tmp_path / "speed.log", clock)
    for _ in range(10):
        assert not any(measured(speed, clock, 0.1, 10 * SLOW))
        assert not any(measured(speed, clock, 5, 0.01))


def test_a_sync_that_never_returns_is_slow(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = SyncSpeed(tmp_path / "speed.log", clock)
    measured(speed, clock, 30, 0.01)
    seen: list[bool] = []

    def hang(_descriptor: int) -> None:
        for _ in range(10):
            clock.now += WINDOW / 5
            seen.append(speed.slow)

    monkeypatch.setattr(disk.os, "fsync", hang)
    speed.measure()
    assert not any(seen[:2])
    assert all(seen[5:])


def test_a_disk_that_cannot_be_written_is_not_judged(tmp_path: Path, clock: Clock) -> None:
    speed = SyncSpeed(tmp_path / "missing" / "speed.log", clock)
    clock.now += 2 * WINDOW
    assert not any(measured(speed, clock, 60, SLOW))


@pytest.mark.parametrize(
    ("members", "others", "expected"),
    [
        (3, (WHOLE, WHOLE), True),
        (3, (WHOLE, SLOW_TOO), False),
        (3, (WHOLE, AWAY), False),
        (3, (WHOLE,), False),
        (5, (WHOLE, WHOLE, WHOLE, SLOW_TOO), True),
        (5, (WHOLE, WHOLE, AWAY, SLOW_TOO), False),
        (2, (WHOLE,), False),
        (1, (), False),
    ],
)
def test_a_member_is_dispensable_beside_a_whole_majority(
    members: int, others: tuple[Peer, ...], *, expected: bool
) -> None:
    assert dispensable(members, others) is expected
