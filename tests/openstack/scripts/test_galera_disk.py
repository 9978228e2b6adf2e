"""When a disk counts as slow, and when a member of Galera stands aside because of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from openstack.scripts.galera import data, disk, member
from openstack.scripts.galera.disk import FAST, SLOW, WINDOW, Peer, SyncSpeed, dispensable
from openstack.scripts.galera.member import Member
from openstack.scripts.galera.server import Status

SYNCED = Status(True, True, "4", "Synced", "11111111-1111-1111-1111-111111111111", 7, "3", False)
DESYNCED = replace(SYNCED, state="2", comment="Donor/Desynced", desynced=True)
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


class Running:
    """A member whose mariadbd, disk and peers are set by a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status: Status | None = SYNCED
        self.peers: list[Peer] = [WHOLE, WHOLE]
        self.answers = True
        self.said: list[bool] = []
        self.member = Member("mysqld-0", ("mysqld-0", "mysqld-1", "mysqld-2"), "mysqld-members")
        monkeypatch.setattr(self.member, "server", object())
        monkeypatch.setattr(self.member, "peers", lambda _view: self.peers)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        monkeypatch.setattr(member, "server_status", lambda: self.status)
        monkeypatch.setattr(member, "set_desync", self.desync)
        monkeypatch.setattr(data, "last_view", lambda: ("mysqld-0", "mysqld-1", "mysqld-2"))

    def desync(self, *, on: bool) -> bool:
        self.said.append(on)
        if self.answers:
            self.status = DESYNCED if on else SYNCED
        return self.answers

    def turn(self, *, slow: bool) -> list[bool]:
        """What the member has said to mariadbd so far, after a turn with a slow or a fast disk."""
        self.member.disk._slow = slow  # pyright: ignore[reportPrivateUsage]
        self.member.stand_aside_or_return()
        return self.said


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    return Running(monkeypatch)


def test_a_member_stands_aside_once_and_returns_with_its_disk(running: Running) -> None:
    assert running.turn(slow=False) == []
    assert running.turn(slow=True) == [True]
    assert running.turn(slow=True) == [True]
    assert running.turn(slow=False) == [True, False]
    assert running.turn(slow=False) == [True, False]


@pytest.mark.parametrize("peers", [[WHOLE, SLOW_TOO], [WHOLE, AWAY], [WHOLE]])
def test_a_member_that_the_others_need_stays_and_returns(running: Running, peers: list[Peer]) -> None:
    running.peers = peers
    assert running.turn(slow=True) == []
    running.peers = [WHOLE, WHOLE]
    assert running.turn(slow=True) == [True]
    running.peers = peers
    assert running.turn(slow=True) == [True, False]


def test_a_member_that_was_desynced_by_hand_is_left_as_it_is(running: Running) -> None:
    running.status = DESYNCED
    assert running.turn(slow=True) == []
    assert running.turn(slow=False) == []


def test_a_mariadbd_that_was_started_again_is_not_aside(running: Running) -> None:
    running.turn(slow=True)
    running.status = SYNCED
    running.peers = [WHOLE]
    assert running.turn(slow=True) == [True]


def test_what_mariadbd_does_not_answer_is_tried_again(running: Running) -> None:
    running.answers = False
    assert running.turn(slow=True) == [True]
    assert running.turn(slow=True) == [True, True]
    running.status = None
    assert running.turn(slow=True) == [True, True]


def test_probes_and_peers_are_told(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.member, "_status", SYNCED)
    assert json.loads(running.member.answer("/peer")[1]) == {"serves": True, "slow": False}
    running.turn(slow=True)
    monkeypatch.setattr(running.member, "_status", DESYNCED)
    assert json.loads(running.member.answer("/peer")[1]) == {"serves": False, "slow": True}
    code, text = running.member.answer("/ready")
    assert code == 503
    assert text.startswith("Donor/Desynced because its disk is slow")
