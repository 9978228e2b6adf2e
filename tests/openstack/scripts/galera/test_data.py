"""What a member of Galera finds on its disk, and what it keeps there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openstack.scripts.galera import data as stored
from openstack.scripts.galera.decision import FORCE, NO_UUID, decide
from tests.openstack.scripts.galera.positions import FIRST, UUID, fresh


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


def test_a_member_that_gets_restored_data_is_awaited(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stopped first: the last primary component of the others does not have it."""
    (disk / "mysql").mkdir()
    (disk / "grastate.dat").write_text(GRASTATE)
    (disk / stored.VIEW).write_text('["mysqld-0", "mysqld-1"]')
    (disk / stored.AWAITED).write_text("mysqld-2\n")
    recovers(monkeypatch, 58)
    own = stored.own_position("mysqld-0")
    one = replace(own, name="mysqld-1")
    assert decide(own, [one], FIRST, None).reason == "no answer from mysqld-2, which may have newer data"
    stored.forget_awaited()
    own = stored.own_position("mysqld-0")
    assert decide(own, [replace(own, name="mysqld-1")], FIRST, None).action == "bootstrap"


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


def test_taking_over_leaves_no_position_and_remembers_the_restoration(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovers(monkeypatch, 9)
    (disk / "mysql").mkdir()
    assert stored.own_position("mysqld-0").restored == ""
    stored.take_over("2026-11-22T02:00:00Z")
    position = stored.own_position("mysqld-0")
    assert (position.is_known, position.has_data, position.restored) == (False, True, "2026-11-22T02:00:00Z")
