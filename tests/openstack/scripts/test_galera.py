"""Which member of Galera bootstraps, joins or waits, and when it is ready or alive."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openstack.scripts.galera import data as stored
from openstack.scripts.galera import server
from openstack.scripts.galera.decision import FORCE, NO_UUID, Decision, Position, decide, waited_for
from openstack.scripts.galera.member import PATIENCE, Member
from openstack.scripts.galera.server import Progress, Status

UUID, OTHER = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
FIRST = ("mysqld-0", "mysqld-1", "mysqld-2")
SYNCED = Status(True, True, "4", "Synced", UUID, 7, "3", False)


def fresh(number: int) -> Position:
    return Position(f"mysqld-{number}", "starting")


def at(number: int, seqno: int, *view: int, uuid: str = UUID) -> Position:
    names = tuple(f"mysqld-{each}" for each in view or (0, 1, 2))
    return Position(f"mysqld-{number}", "starting", has_data=True, uuid=uuid, seqno=seqno, view=names)


def decided(own: Position, *others: Position, forced: str | None = None) -> str:
    return decide(own, others, FIRST, forced).action


def reason(own: Position, *others: Position, forced: str | None = None) -> str:
    return decide(own, others, FIRST, forced).reason


def bootstrapping(*members: Position) -> list[str]:
    """The members that bootstrap if all of these see each other."""
    return [own.name for own in members if decided(own, *(each for each in members if each is not own)) == "bootstrap"]


def test_a_new_cluster_is_bootstrapped_by_the_lowest_ordinal_alone() -> None:
    assert bootstrapping(fresh(0), fresh(1), fresh(2)) == ["mysqld-0"]


def test_a_new_cluster_waits_for_all_its_first_members() -> None:
    assert bootstrapping(fresh(0), fresh(1)) == []
    assert reason(fresh(0), fresh(1)) == "no answer from mysqld-2, which may have newer data"


def test_more_members_than_the_first_ones_do_not_hold_up_a_new_cluster() -> None:
    assert bootstrapping(*(fresh(number) for number in range(5))) == ["mysqld-0"]


def test_an_empty_ordinal_0_beside_members_with_data_does_not_bootstrap() -> None:
    assert bootstrapping(fresh(0), at(1, 5), at(2, 9)) == ["mysqld-2"]
    assert decided(fresh(0), at(1, 5)) == "wait"


def test_the_most_advanced_member_bootstraps_and_ties_go_to_the_lowest_ordinal() -> None:
    assert bootstrapping(at(0, 5), at(1, 5), at(2, 9)) == ["mysqld-2"]
    assert bootstrapping(at(0, 5), at(1, 9), at(2, 9)) == ["mysqld-1"]
    assert bootstrapping(at(2, 9, 2, 10), at(10, 9, 2, 10)) == ["mysqld-2"]


def test_a_member_that_was_in_the_last_primary_component_is_waited_for() -> None:
    assert bootstrapping(at(0, 5), at(1, 5)) == []
    assert "mysqld-2" in reason(at(0, 5), at(1, 5))
    assert bootstrapping(*(at(number, 5, 0, 1, 2, 3, 4) for number in range(4))) == []


def test_a_member_that_left_before_is_not_waited_for() -> None:
    """Its loss was survived: the others have every transaction that it has."""
    assert bootstrapping(at(0, 5, 0, 1), at(1, 6, 0, 1)) == ["mysqld-1"]
    assert bootstrapping(at(1, 6, 1)) == ["mysqld-1"]


def test_who_left_before_waits_for_those_that_went_on() -> None:
    assert decided(at(2, 9, 0, 1, 2)) == "wait"
    assert bootstrapping(at(2, 4, 0, 1, 2), at(0, 5, 0, 1), at(1, 6, 0, 1)) == ["mysqld-1"]


def test_nobody_bootstraps_beside_a_primary_component() -> None:
    alive = replace(at(1, 9), phase="running", primary=True)
    assert decided(at(0, 99), alive) == "join"
    assert decided(fresh(0), alive) == "join"
    assert decided(at(0, 9), alive, forced="mysqld-0") == "join"


def test_data_of_another_cluster_is_never_replaced_by_a_state_transfer() -> None:
    alive = replace(at(1, 9), phase="running", primary=True)
    assert decided(at(0, 3, uuid=OTHER), alive) == "wait"
    assert OTHER in reason(at(0, 3, uuid=OTHER), alive)
    assert bootstrapping(at(0, 3, uuid=OTHER), at(1, 9), at(2, 9)) == []


def test_a_running_member_without_a_primary_component_is_waited_for() -> None:
    running = replace(at(1, 9), phase="running")
    assert decided(at(0, 9), running, at(2, 9)) == "wait"
    assert reason(at(0, 9), running, at(2, 9)) == "mysqld-1 runs and is in no primary component yet"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((at(0, 9, 0, 1, 2), at(1, 9, 0, 1, 2)), True),
        ((at(0, 9, 0, 1, 2), replace(at(1, 9), phase="running")), True),
        ((at(0, 9, 0, 1, 2),), False),  # the other one may be in a primary component
        ((at(0, 9, 0, 1, 2), replace(at(1, 9), phase="running", primary=True)), False),
        ((replace(at(0, 9), phase="running"), replace(at(1, 9), phase="running")), False),  # they find each other
    ],
)
def test_a_member_gives_up_if_all_others_answer_and_wait(others: tuple[Position, ...], *, expected: bool) -> None:
    assert waited_for(("mysqld-0", "mysqld-1", "mysqld-2"), "mysqld-2", others) is expected


def test_incomplete_data_never_starts_a_cluster() -> None:
    incomplete = Position("mysqld-0", "starting", has_data=True)
    assert bootstrapping(incomplete, fresh(1), fresh(2)) == []
    assert bootstrapping(incomplete, at(1, 3), at(2, 4)) == ["mysqld-2"]


def test_force_names_one_member_and_the_others_wait_for_it() -> None:
    assert decided(at(1, 5), forced="mysqld-1") == "bootstrap"
    assert decided(at(0, 9), at(1, 5), forced="mysqld-1") == "wait"


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 3), min_size=3, max_size=5), st.data())
def test_at_most_one_bootstraps_whoever_sees_whom(seqnos: list[int | None], data: st.DataObject) -> None:
    """Also with links that work in one direction, or not at all."""
    size = len(seqnos)
    view = range(size)
    members = [fresh(n) if seqno is None else at(n, seqno, *view) for n, seqno in enumerate(seqnos)]
    found: list[int] = []
    for number, own in enumerate(members):
        others = data.draw(st.lists(st.sampled_from(members), unique=True))
        answers = [each for each in others if each is not own]
        if decide(own, answers, [each.name for each in members], None).action == "bootstrap":
            found.append(number)
    assert len(found) <= 1
    known = [seqno for seqno in seqnos if seqno is not None]
    assert all(seqnos[number] == max(known) for number in found if known)


def test_every_order_of_the_same_answers_decides_the_same() -> None:
    others = (at(1, 5), at(2, 7), fresh(3))
    assert len({decide(at(0, 6), order, FIRST, None) for order in itertools.permutations(others)}) == 1


# --- what is on disk ---


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "DIRECTORY", tmp_path)
    return tmp_path


def recovers(monkeypatch: pytest.MonkeyPatch, seqno: int) -> None:
    monkeypatch.setattr(stored, "recovered", lambda: (UUID, seqno))


GRASTATE = f"""# GALERA saved state
version: 2.1
uuid:    {UUID}
seqno:   41
safe_to_bootstrap: 0
"""


def test_an_old_sequence_number_beside_newer_data_does_not_count(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk / "mysql").mkdir()
    (disk / "grastate.dat").write_text(GRASTATE)
    recovers(monkeypatch, 58)
    assert stored.own_position("mysqld-0").seqno == 58


def test_an_empty_directory_has_no_position(disk: Path) -> None:
    (disk / "lost+found").mkdir()
    assert stored.own_position("mysqld-0") == fresh(0)


@pytest.mark.parametrize("sign", ["sst_in_progress", "grastate.dat"])
def test_an_interrupted_state_transfer_leaves_no_position(disk: Path, sign: str) -> None:
    (disk / "mysql").mkdir()
    (disk / sign).write_text(GRASTATE.replace(UUID, NO_UUID))
    assert not stored.own_position("mysqld-0").is_known


def test_an_unfinished_installation_is_removed(disk: Path) -> None:
    (disk / "mysql").mkdir()
    (disk / "ibdata1").touch()
    (disk / stored.UNFINISHED).touch()
    assert stored.own_position("mysqld-0") == fresh(0)
    assert [path.name for path in disk.iterdir()] == [stored.HAS_COMPLETE]


def test_transferred_data_that_was_not_synced_has_no_position(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state transfer deletes the old data and what says that it is complete; then the power is cut."""
    assert stored.own_position("mysqld-0") == fresh(0)
    (disk / "mysql").mkdir()
    (disk / "grastate.dat").write_text(GRASTATE)
    recovers(monkeypatch, 58)
    assert not stored.own_position("mysqld-0").is_known
    assert NO_UUID in (disk / "grastate.dat").read_text(), "a full state transfer replaces the data"


def test_data_is_complete_once_the_member_has_joined(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored.own_position("mysqld-0") == fresh(0)
    (disk / "mysql").mkdir()
    recovers(monkeypatch, 58)
    for status in ("connected", "joiner", "initialized"):
        stored.record_view(["--status", status])
        assert not (disk / stored.COMPLETE).exists()
    stored.record_view(["--status", "joined"])
    assert stored.own_position("mysqld-0").seqno == 58


def test_data_of_a_member_from_before_is_complete(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk / "mysql").mkdir()
    recovers(monkeypatch, 58)
    assert stored.own_position("mysqld-0").seqno == 58
    (disk / stored.COMPLETE).unlink()
    assert not stored.own_position("mysqld-0").is_known, "only the first time"


def test_allowing_a_bootstrap_keeps_the_other_lines(disk: Path) -> None:
    """Fuel-CCP left a file of one line, without UUID and sequence number."""
    (disk / "grastate.dat").write_text(GRASTATE)
    stored.allow_bootstrap()
    assert (disk / "grastate.dat").read_text() == GRASTATE.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1")


def test_only_a_primary_component_is_recorded(disk: Path) -> None:
    members = ["--members", "u1/mysqld-0/10.0.0.1:3306,u2/mysqld-1/10.0.0.2:3306"]
    stored.record_view(["--status", "joined", "--uuid", UUID, "--primary", "yes", "--index", "0", *members])
    stored.record_view(["--status", "joined", "--primary", "no", "--members", "u1/mysqld-0/10.0.0.1:3306"])
    stored.record_view(["--status", "synced"])
    assert json.loads((disk / stored.VIEW).read_text()) == ["mysqld-0", "mysqld-1"]


def test_force_takes_effect_once_for_each_value(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCE, "mysqld-1")
    assert stored.forced_member() == "mysqld-1"
    (disk / stored.FORCED).write_text("mysqld-1")
    assert stored.forced_member() is None
    monkeypatch.delenv(FORCE)
    assert stored.forced_member() is None
    assert not (disk / stored.FORCED).exists()


class GivenUp:
    """A mariadbd that ends because its member gives up."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def wait(self) -> int:
        self._member._gives_up = True  # pyright: ignore[reportPrivateUsage]
        return 0


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


# --- ready and alive ---


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


def restored(position: Position, when: str = "2026-11-22T02:00:00Z") -> Position:
    return replace(position, restored=when)


def test_restored_data_bootstraps_although_the_others_have_more_transactions() -> None:
    own = replace(restored(at(2, 5)), view=())
    assert bootstrapping(at(0, 9), at(1, 9), own) == ["mysqld-2"]
    assert bootstrapping(restored(at(0, 9), "2026-11-21T02:00:00Z"), at(1, 9), own) == ["mysqld-2"]
    assert bootstrapping(at(0, 9), own) == [], "the first members are waited for"


def test_a_member_takes_over_restored_data_in_place_of_its_own() -> None:
    serving = restored(replace(at(2, 5), phase="running", primary=True))
    assert decide(at(0, 9), [serving], FIRST, None).restored == serving.restored
    assert decide(fresh(3), [serving], FIRST, None).restored == serving.restored
    assert decide(restored(at(0, 6)), [serving], FIRST, None).restored == "", "it has taken over already"


def test_restored_data_never_joins_a_cluster_with_data_from_before() -> None:
    old = replace(at(0, 9), phase="running", primary=True)
    assert "stop all members" in reason(restored(at(2, 5)), old)
    assert decided(restored(at(2, 5)), old) == "wait"


def test_taking_over_leaves_no_position_and_remembers_the_restoration(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovers(monkeypatch, 9)
    (disk / "mysql").mkdir()
    assert stored.own_position("mysqld-0").restored == ""
    stored.take_over("2026-11-22T02:00:00Z")
    position = stored.own_position("mysqld-0")
    assert (position.is_known, position.has_data, position.restored) == (False, True, "2026-11-22T02:00:00Z")
