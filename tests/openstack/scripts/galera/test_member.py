"""When a member of Galera is ready or alive, and when it stands aside because of its disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openstack.scripts.galera import data, member
from openstack.scripts.galera.decision import Decision, Position
from openstack.scripts.galera.disk import Peer
from openstack.scripts.galera.member import PATIENCE, Member
from openstack.scripts.galera.server import Status
from tests.openstack.scripts.galera.positions import FIRST, SYNCED, UUID, at

DESYNCED = replace(SYNCED, state="2", comment="Donor/Desynced", desynced=True)
WHOLE, SLOW_TOO, AWAY = Peer(True, False), Peer(True, True), Peer(False, False)


class GivenUp:
    """A mariadbd that ends because its member gives up."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def wait(self) -> int:
        self._member._gives_up = True  # pyright: ignore[reportPrivateUsage]
        return 0


def test_a_member_that_starts_awaits_no_restored_one_any_more(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk / data.AWAITED).write_text("mysqld-2\n")
    member = Member("mysqld-1", FIRST, "db")
    monkeypatch.setattr(member, "others", tuple)
    member.arguments(Decision("join", "primary component with mysqld-0"))
    assert not (disk / data.AWAITED).exists()


def test_a_member_that_gives_up_tells_no_old_position(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would take the position of its last start for its newest, and bootstrap without what it wrote since."""
    member = Member("mysqld-1", FIRST, "db")
    heard: list[int] = []

    def waits() -> Decision:
        heard.append(member.answer("/position")[0])
        member.has_read = True
        if len(heard) == 2:
            raise KeyboardInterrupt
        return Decision("join", "primary component with mysqld-0")

    monkeypatch.setattr(member, "wait_for_turn", waits)

    def arguments(_decision: Decision) -> list[str]:
        return []

    def starts(_words: list[str]) -> GivenUp:
        return GivenUp(member)

    def ignores(*_words: object) -> None: ...

    monkeypatch.setattr(member, "arguments", arguments)
    monkeypatch.setattr("openstack.scripts.galera.member.subprocess.Popen", starts)
    monkeypatch.setattr("openstack.scripts.galera.member.signal.signal", ignores)
    with pytest.raises(KeyboardInterrupt):
        member.run()
    assert heard == [503, 503]


def serving(monkeypatch: pytest.MonkeyPatch, status: Status | None, stuck: float = 0.0) -> Member:
    member = Member("mysqld-0", FIRST, "mysqld-members")
    monkeypatch.setattr(member, "server", object())
    monkeypatch.setattr(member, "_status", status)
    monkeypatch.setattr(member, "_stuck", stuck)
    return member


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (SYNCED, 200),
        (replace(SYNCED, state="3", comment="Joined"), 503),
        (replace(SYNCED, state="2", comment="Donor/Desynced"), 503),
        (replace(SYNCED, primary=False), 503),
        (replace(SYNCED, ready=False), 503),
        (None, 503),
    ],
)
def test_ready_means_synced_in_the_primary_component(
    monkeypatch: pytest.MonkeyPatch, status: Status | None, code: int
) -> None:
    assert serving(monkeypatch, status).answer("/ready")[0] == code


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (SYNCED, {"uuid": UUID, "seqno": 7, "primary": True}),
        (replace(SYNCED, ready=False), {"uuid": UUID, "seqno": 7, "primary": False}),
        (replace(SYNCED, primary=False), {"uuid": "of the start", "seqno": 3, "primary": False}),
        (None, {"uuid": "of the start", "seqno": 3, "primary": False}),
    ],
)
def test_others_are_told_what_mariadbd_has_committed(
    monkeypatch: pytest.MonkeyPatch, disk: Path, status: Status | None, told: dict[str, object]
) -> None:
    """Outside of a primary component, mariadbd has nothing newer than at its start."""
    data.write(disk / data.VIEW, json.dumps(["mysqld-0", "mysqld-1"]))
    running = serving(monkeypatch, status)
    running.own, running.has_read = at(0, 3, uuid="of the start"), True
    code, text = running.answer("/position")
    position = {"name": "mysqld-0", "phase": "running", "has_data": True, "restored": ""}
    assert (code, json.loads(text)) == (200, {**position, "view": ["mysqld-0", "mysqld-1"], **told})


def test_a_member_that_waits_is_alive_but_not_ready() -> None:
    member = Member("mysqld-0", FIRST, "mysqld-members")
    assert member.answer("/alive")[0] == 200
    assert member.answer("/ready")[0] == 503
    assert member.answer("/position")[0] == 503, "its data is not read yet"


def test_a_member_that_is_stuck_is_not_alive(monkeypatch: pytest.MonkeyPatch, disk: Path) -> None:
    joined = replace(SYNCED, state="3", comment="Joined")
    assert serving(monkeypatch, joined, stuck=PATIENCE - 1).answer("/alive")[0] == 200
    code, text = serving(monkeypatch, joined, stuck=PATIENCE + 1).answer("/alive")
    assert code == 503
    assert "Joined" in text


def test_others_are_found_by_name_by_address_and_in_the_records_of_others(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    """The own answer, a second answer of one, and those that do not answer are left out."""
    data.write(disk / data.VIEW, json.dumps(["mysqld-0", "mysqld-3"]))
    answers = {
        "mysqld-0.db": at(0, 5),
        "mysqld-1.db": at(1, 5),
        "10.0.0.1": at(1, 5),
        "10.0.0.2": at(2, 7, 2, 3, 4, 5),
        "mysqld-4.db": at(4, 6),
    }
    asked: list[str] = []

    def ask(address: str) -> Position | None:
        asked.append(address)
        return answers.get(address)

    monkeypatch.setattr(member, "ask", ask)
    monkeypatch.setattr(member, "addresses_of", lambda _domain: {"10.0.0.1", "10.0.0.2"})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    found = Member("mysqld-0", FIRST, "db").others()
    assert sorted(each.name for each in found) == ["mysqld-1", "mysqld-2", "mysqld-4"]
    names = {f"mysqld-{number}.db" for number in range(6)}
    assert sorted(asked) == sorted({"10.0.0.1", "10.0.0.2", *names})


def test_a_member_waits_for_its_turn_and_logs_each_reason_once(
    monkeypatch: pytest.MonkeyPatch, disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rounds: list[list[Position]] = [[], [], [replace(at(1, 9), phase="running", primary=True)]]
    waits = Member("mysqld-0", FIRST, "db")
    monkeypatch.setattr(data, "own_position", lambda _name: at(0, 7))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(waits, "others", lambda: rounds.pop(0))
    monkeypatch.setattr(member.time, "sleep", lambda _seconds: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert waits.wait_for_turn().action == "join"
    assert (rounds, waits.has_read, waits.own) == ([], True, at(0, 7))
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].endswith(f"data: {UUID}:7, last primary component: mysqld-0, mysqld-1, mysqld-2")
    assert [line.split()[1] for line in lines[1:]] == ["wait:", "join:"]


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
