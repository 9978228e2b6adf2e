"""The program that marks a survivor's data, beside the program of the member whose files it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from openstack.scripts import galera_survivor
from openstack.scripts.galera import data, member
from openstack.scripts.galera.decision import NO_UUID, Position, decide
from openstack.scripts.galera.member import Member
from tests.openstack.scripts.galera.conftest import disk as disk  # noqa: PLC0414 - a fixture
from tests.openstack.scripts.galera.positions import FIRST, UUID

STATUS = f"wsrep_local_state_uuid\t{UUID}\nwsrep_last_committed\t120\nwsrep_cluster_status\tnon-Primary\n"
OTHERS = ("mysqld-0", "mysqld-1")


@pytest.fixture
def own(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    """The third member, which answers over HTTP. It waits for the others with its data at 101."""
    found = Member("mysqld-2", FIRST, "db")
    found.own = Position("mysqld-2", "starting", has_data=True, uuid=UUID, seqno=101, view=FIRST)
    found.has_read = True

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, said = found.answer(self.path)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(galera_survivor, "MEMBER", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(galera_survivor, "DATA", disk)
    yield found
    server.shutdown()
    server.server_close()


def restarted(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Position:
    """What the member's program reads when it starts again, with the data that it had."""
    (disk / "mysql").mkdir(exist_ok=True)
    monkeypatch.setattr(data, "recovered", lambda: (UUID, 120))
    return data.own_position("mysqld-2")


def test_a_marked_member_bootstraps_alone(own: Member, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.write(disk / data.VIEW, json.dumps(FIRST))
    (disk / data.AWAITED).write_text("mysqld-0\n")
    assert decide(restarted(disk, monkeypatch), [], FIRST, None).action == "wait"
    assert galera_survivor.main("go-on") == 0
    assert decide(restarted(disk, monkeypatch), [], FIRST, None).action == "bootstrap"
    assert own.own.name == "mysqld-2"


def test_who_comes_back_with_newer_data_takes_the_survivors_over(
    own: Member, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    galera_survivor.main("go-on")
    survivor = restarted(disk, monkeypatch)
    old = [replace(own.own, name=each, seqno=900, view=FIRST) for each in OTHERS]
    assert decide(survivor, old, FIRST, None).action == "bootstrap"
    assert decide(old[0], [old[1], survivor], FIRST, None).action == "wait"
    assert decide(old[0], [old[1]], FIRST, None).reason == "no answer from mysqld-2, which may have newer data"
    serves = replace(survivor, phase="running", primary=True)
    joins = decide(old[0], [old[1], serves], FIRST, None)
    assert (joins.action, joins.restored) == ("join", survivor.restored), "all data, not what came after its own"


def test_a_mark_without_its_record_bootstraps_nothing(own: Member, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program was killed between the two: it may be run again."""
    data.write(disk / data.VIEW, json.dumps(FIRST))
    data.write(disk / data.RESTORED, "2026-11-30T15:00:00Z")
    assert decide(restarted(disk, monkeypatch), [], FIRST, None).action == "wait"
    assert galera_survivor.main("go-on") == 0
    assert decide(restarted(disk, monkeypatch), [], FIRST, None).action == "bootstrap"
    assert own.has_read


def test_a_running_member_tells_its_position_of_now(own: Member, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.server = object()  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(galera_survivor, "_replication", lambda: STATUS)
    data.record_service()
    said = galera_survivor.look()
    assert (said["uuid"], said["seqno"], said["primary"]) == (UUID, 120, False)
    assert said["does"] == "mariadbd does not answer"
    assert said["served"] == (disk / data.SERVED).stat().st_mtime


def test_what_may_not_go_on_is_not_marked(
    own: Member, disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own.server = object()  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(galera_survivor, "_replication", lambda: STATUS.replace("non-Primary", "Primary"))
    assert galera_survivor.main("go-on") == 1
    assert "mysqld-2 is in a primary component: the cluster has its majority" in capsys.readouterr().err
    monkeypatch.setattr(galera_survivor, "_replication", lambda: STATUS)
    (disk / data.HAS_COMPLETE).touch()
    assert galera_survivor.main("go-on") == 1
    assert "mysqld-2 has no complete data" in capsys.readouterr().err, "a state transfer was broken off"
    own.server, own.own = None, replace(own.own, uuid=NO_UUID)
    assert galera_survivor.main("go-on") == 1
    own.has_read = False
    assert galera_survivor.main("look") == 1
    assert "the member's program does not answer: HTTP Error 503" in capsys.readouterr().err
    assert not (disk / data.RESTORED).exists()


def test_its_files_are_those_of_the_member() -> None:
    names = ("VIEW", "RESTORED", "AWAITED", "SERVED", "COMPLETE", "HAS_COMPLETE")
    assert [getattr(galera_survivor, each) for each in names] == [getattr(data, each) for each in names]
    assert galera_survivor.DATA == data.DIRECTORY
    assert galera_survivor.MEMBER.endswith(f":{member.PORT}")
    assert galera_survivor.NO_UUID == NO_UUID
