"""How a member of an OVN database tells what it has, and becomes the only member of a new cluster."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from openstack.scripts import ovn_survivor
from openstack.scripts.ovn_member import peers
from operations.restoration import survivor_programs
from tests.fakes import script

OLD, NEW = "0b0b0b0b-0000-4000-8000-000000000001", "0c0c0c0c-0000-4000-8000-000000000002"
SNAPSHOT = {"cluster_id": OLD, "prev_index": 10, "prev_term": 2, "prev_data": [{"name": "OVN_Northbound"}, {}]}
STATUS = f"""\
cccc
Name: OVN_Northbound
Cluster ID: 0b0b ({OLD})
Server ID: cccc (cccc3104-7d79-4461-b0f3-400d1c97ac4e)
Address: tcp:ovn-nb-2.members:6643
Status: disconnected from the cluster (election timeout)
Role: candidate
Term: 9
Leader: unknown
Vote: self

Election timer: 10000
Log: [11, 14]
Connections: (->aaaa) (->bbbb)
Servers:
    aaaa (aaaa at tcp:ovn-nb-0.members:6643)
    bbbb (bbbb at tcp:ovn-nb-1.members:6643)
    cccc (cccc at tcp:ovn-nb-2.members:6643) (self)
"""
_TOOL = f"""\
import json, sys
from pathlib import Path
from openstack.scripts.ovn_survivor import _write, records
command, *words = sys.argv[1:]
Path("log").open("a").write(f"ovsdb-tool {{command}}\\n")
if command == "db-cid":
    print(json.loads(next(records(Path(words[0]))))["cluster_id"])
elif command == "db-local-address":
    print("tcp:ovn-nb-2.members:6643")
elif command == "cluster-to-standalone":
    _write(Path(words[0]), records(Path(words[1])))
elif command == "transact":
    Path("note").write_text(words[1])
    print('[{{"count":1}}]')
elif command == "create-cluster":
    taken = b"".join(records(Path(words[1]))).decode()
    written = {{"prev_index": 1, "prev_term": 1, "cluster_id": "{NEW}", "taken": taken}}
    _write(Path(words[0]), [json.dumps(written, separators=(",", ":")).encode()])
"""
"""Stands in for ovsdb-tool: what it makes has all that it was given."""


def entry(index: int, term: int, date: int = 0) -> bytes:
    data = {"data": [None, {"_date": date}]} if date else {}
    return json.dumps({"index": index, "term": term, **data}, separators=(",", ":")).encode() + b"\n"


LOG = (
    json.dumps(SNAPSHOT, separators=(",", ":")).encode() + b"\n",
    entry(11, 2, 1796051000000),
    b'{"term":3,"vote":"x"}\n',
    entry(12, 2, 1796051001000),
    entry(13, 2, 1796051002000),
    entry(12, 3, 1796051003000),
    entry(13, 3),
)
"""Entries 12 and 13 of term 2 were replaced by those of the leader of term 3."""


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A member's volume, with programs of OVN that note how they are called."""
    script(tmp_path / "bin", "ovsdb-tool", f'exec {sys.executable} "$HOME/tool.py" "$@"')
    remove = f'echo "remove-db $(grep -c {NEW} database.db)" >>"$HOME/log"'
    script(tmp_path / "bin", "ovs-appctl", f'case "$*" in *remove-db*) {remove} ;; *) cat "$HOME/said" ;; esac')
    (tmp_path / "tool.py").write_text(_TOOL, encoding="utf-8")
    (tmp_path / "said").write_text(STATUS, encoding="utf-8")
    (tmp_path / "member.json").write_text('{"database": "OVN_Northbound"}', encoding="utf-8")
    here = Path(__file__).parents[3]
    for name, text in (
        ("PATH", f"{tmp_path}/bin:{os.environ['PATH']}"),
        ("HOME", str(tmp_path)),
        ("PYTHONPATH", str(here)),
    ):
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(tmp_path)
    for name, file in (("SETTINGS", "member.json"), ("DATA", "database.db"), ("SERVED", "served"), ("WORK", "work")):
        monkeypatch.setattr(ovn_survivor, name, tmp_path / file)
    write(tmp_path, *LOG)
    return tmp_path


def write(member: Path, *records: bytes, broken: bytes = b"") -> None:
    lines = (b"OVSDB CLUSTER %d %s\n%s" % (len(each), digest(each), each) for each in records)
    (member / "database.db").write_bytes(b"".join(lines) + broken)


def digest(record: bytes) -> bytes:
    return hashlib.sha1(record, usedforsecurity=False).hexdigest().encode()


def says(member: Path, *others: tuple[str, str]) -> None:
    said = STATUS
    for before, after in others:
        assert before in said
        said = said.replace(before, after)
    (member / "said").write_text(said, encoding="utf-8")


def done(member: Path) -> list[str]:
    log = member / "log"
    return log.read_text().splitlines() if log.exists() else []


def served(member: Path) -> dict[str, Any]:
    """Returns the only record of the file that is served."""
    (record,) = ovn_survivor.records(member / "database.db")
    return json.loads(record)


def test_what_a_member_has(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ovn_survivor.main("look") == 0
    said = capsys.readouterr().out
    found = survivor_programs.ovn(said)
    assert (found.serves, found.cluster, found.position, found.served) == (False, OLD, 13, None)
    assert found.data == (
        "cluster 0b0b0b0b, server cccc, entry 13 of term 3, data written until 2026-11-30 15:03:23 UTC"
    )
    assert found.together == ("ovn-nb-0", "ovn-nb-1", "ovn-nb-2")
    assert found.does == "disconnected from the cluster (election timeout), knows no leader"
    (member / "served").touch()
    os.utime(member / "served", (1796051004, 1796051004))
    ovn_survivor.main("look")
    assert str(survivor_programs.ovn(capsys.readouterr().out).served) == "2026-11-30 15:03:24+00:00"


def test_a_log_that_is_only_a_snapshot(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(member, LOG[0])
    ovn_survivor.main("look")
    assert survivor_programs.ovn(capsys.readouterr().out).data == "cluster 0b0b0b0b, server cccc, entry 10 of term 2"
    assert ovn_survivor.main("go-on") == 0
    assert served(member)["prev_index"] == 10 + ovn_survivor.STEP


@pytest.mark.parametrize("has_database", [True, False])
def test_a_member_without_data_has_none(
    member: Path, capsys: pytest.CaptureFixture[str], *, has_database: bool
) -> None:
    says(member, ("disconnected from the cluster (election timeout)", "joining cluster"))
    if not has_database:
        script(member / "bin", "ovs-appctl", "echo 'unknown cluster' >&2; echo 'server returned an error' >&2; exit 2")
    assert ovn_survivor.main("look") == 0
    found = survivor_programs.ovn(capsys.readouterr().out)
    assert (found.data, found.serves) == ("", False)
    assert ovn_survivor.main("go-on") == 1
    assert capsys.readouterr().err == "it has no complete data\n"
    assert done(member) == []


def test_a_member_with_a_leader_serves(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    says(member, ("disconnected from the cluster (election timeout)", "cluster member"), ("unknown", "aaaa"))
    ovn_survivor.main("look")
    found = survivor_programs.ovn(capsys.readouterr().out)
    assert (found.serves, found.does) == (True, "cluster member, leader aaaa")


def test_the_new_cluster_has_what_is_valid_of_the_log(member: Path) -> None:
    """What a later leader has replaced is left out, and the new log begins after all that a client may have seen."""
    assert ovn_survivor.main("go-on") == 0
    made = served(member)
    assert made["taken"].encode() == LOG[0] + LOG[1] + LOG[5] + LOG[6]
    assert made["prev_index"] == 13 + ovn_survivor.STEP
    transaction = json.loads((member / "note").read_text())
    assert transaction[0] == "OVN_Northbound"
    ((column, change, (_, ((key, _),))),) = transaction[1]["mutations"]
    assert (transaction[1]["table"], column, change) == ("NB_Global", "external_ids", "insert")
    assert key == peers.REPLACED + OLD
    assert done(member)[-1] == "remove-db 1", "ovsdb-server loses the database when the new file is in its place"
    assert list(ovn_survivor.records(member / "database.former")) == list(LOG)
    assert not (member / "work").exists()


def test_a_record_that_was_not_completely_written_is_left_out(member: Path) -> None:
    write(member, *LOG, broken=b"OVSDB CLUSTER 100 0123456789\n{")
    assert ovn_survivor.main("go-on") == 0
    write(member, *LOG, broken=b"OVSDB CLU")
    assert list(ovn_survivor.records(member / "database.db")) == list(LOG)


@pytest.mark.parametrize("broken", [b"OVSDB CLUSTER 3 %s\n{}\n" % digest(LOG[0]), b"OVSDB JSON 3 x\n{}\n", b"\n"])
def test_a_damaged_file_is_not_taken(member: Path, broken: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    write(member, *LOG, broken=broken)
    before = (member / "database.db").read_bytes()
    script(member / "bin", "ovsdb-tool", f"[ $1 != db-cid ] || echo {OLD}")
    assert ovn_survivor.main("go-on") == 1
    assert "database.db is damaged before byte" in capsys.readouterr().err
    assert (member / "database.db").read_bytes() == before
    assert ovn_survivor.main("look") == 1


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([("unknown", "aaaa")], "it has a leader, in a cluster with 2 others"),
        ([("(->bbbb)", "->bbbb")], "it hears ovn-nb-1: it is not alone"),
        ([("(->aaaa)", "<-0000 <-aaaa")], "it hears ovn-nb-0: it is not alone"),
    ],
)
def test_who_may_not_go_on_changes_nothing(
    member: Path, others: list[tuple[str, str]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    says(member, *others)
    assert ovn_survivor.main("go-on") == 1
    assert capsys.readouterr().err == f"{said}\n"
    assert done(member) == []


def test_a_member_that_has_gone_on_is_left_as_it_is(member: Path) -> None:
    alone = STATUS[: STATUS.index("    aaaa")] + "    cccc (cccc at tcp:ovn-nb-2.members:6643) (self)\n"
    (member / "said").write_text(alone.replace("unknown", "self"), encoding="utf-8")
    assert ovn_survivor.main("go-on") == 0
    assert done(member) == []


def test_a_run_that_was_killed_before_the_new_file_is_served_goes_on(member: Path) -> None:
    write(member, LOG[0].replace(OLD.encode(), NEW.encode()))
    assert ovn_survivor.main("go-on") == 0
    assert done(member) == ["ovsdb-tool db-cid", "remove-db 1"]


@pytest.mark.parametrize("failing", ["cluster-to-standalone", "transact", "create-cluster"])
def test_a_step_that_fails_leaves_the_database(member: Path, failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    fails = f'if [ "$1" = {failing} ]; then echo no space left >&2; exit 1; fi'
    script(member / "bin", "ovsdb-tool", f'{fails}\nexec {sys.executable} "$HOME/tool.py" "$@"')
    assert ovn_survivor.main("go-on") == 1
    assert f"ovsdb-tool {failing}: no space left" in capsys.readouterr().err
    assert list(ovn_survivor.records(member / "database.db")) == list(LOG)
    assert not any("remove-db" in each for each in done(member))


def test_a_database_that_was_never_used_has_no_place_for_the_note(
    member: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (member / "tool.py").write_text(_TOOL.replace('"count":1', '"count":0'), encoding="utf-8")
    assert ovn_survivor.main("go-on") == 1
    assert "its database has no row in NB_Global" in capsys.readouterr().err
    assert list(ovn_survivor.records(member / "database.db")) == list(LOG)


def test_a_server_that_does_not_answer(member: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script(member / "bin", "ovs-appctl", "echo cannot connect >&2; exit 1")
    assert ovn_survivor.main("look") == 1
    assert "cannot connect" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"state": ""}', "Traceback"])
def test_no_state_is_no_answer(said: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        survivor_programs.ovn(said)
