"""What a member of an OVN database reads of another one, from what ovsdb-client prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openstack.scripts.ovn_member import peers
from openstack.scripts.ovn_member.peers import REPLACED, MemberSettings, PeerDatabase, ask, ask_others, replaces
from tests.fakes import script

MEMBERS = ("nb-0.members", "nb-1.members", "nb-2.members")
NB = MemberSettings("OVN_Northbound", "nb.ovsschema", "ovn-nbctl", 6641, 16641, 6643, 9476, MEMBERS, 10_000, 60_000)
EMPTY_ID: list[Any] = ["set", []]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client of OVSDB that writes its arguments to `asked`, prints `answer`, and fails without that file."""
    script(tmp_path, "ovsdb-client", f'echo "$*" >>{tmp_path}/asked\ncat {tmp_path}/answer')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def answer(client: Path, *rows: dict[str, Any]) -> None:
    (client / "answer").write_text(json.dumps([{"rows": list(rows)}]), encoding="utf-8")


def test_the_ids_are_those_of_the_member_s_own_database(client: Path) -> None:
    answer(client, {"cid": ["uuid", "cluster-1"], "sid": ["uuid", "aaaa1111"]})
    assert ask(NB, "nb-1.members") == PeerDatabase("cluster-1", "aaaa1111")
    *options, transaction = (client / "asked").read_text(encoding="utf-8").split(maxsplit=4)
    assert options == ["--timeout=5", "--no-leader-only", "query", "tcp:nb-1.members:16641"]
    where = [["name", "==", "OVN_Northbound"]]
    assert json.loads(transaction) == [
        "_Server",
        {"op": "select", "table": "Database", "where": where, "columns": ["cid", "sid"]},
    ]


def test_a_member_without_data_has_no_ids(client: Path) -> None:
    answer(client)
    assert ask(NB, "nb-1.members") == PeerDatabase()
    answer(client, {"cid": EMPTY_ID, "sid": ["uuid", "aaaa1111"]})
    assert ask(NB, "nb-1.members") == PeerDatabase("", "aaaa1111")


def test_a_member_that_does_not_answer_is_none(client: Path) -> None:
    assert ask(NB, "nb-1.members") is None
    assert not replaces(NB, "nb-1.members", "cluster-1")


def test_all_others_are_asked(client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.socket, "gethostname", lambda: "nb-1")
    answer(client)
    assert ask_others(NB) == {"nb-0.members": PeerDatabase(), "nb-2.members": PeerDatabase()}


@pytest.mark.parametrize(
    ("ids", "replaced"),
    [
        ([[REPLACED + "cluster-1", "now"]], True),
        ([["other", "x"], [REPLACED + "cluster-1", "now"]], True),
        ([[REPLACED + "cluster-2", "now"]], False),
        ([["cluster-1", "now"]], False),
        ([], False),
    ],
)
def test_a_cluster_is_replaced_by_one_that_names_it(client: Path, ids: list[list[str]], replaced: bool) -> None:
    answer(client, {"external_ids": ["map", ids]})
    assert replaces(NB, "nb-1.members", "cluster-1") is replaced
