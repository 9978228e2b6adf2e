"""Which members of an OVN database create, join or wait, and which identities the leader removes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from openstack.scripts import ovn_member
from openstack.scripts.ovn_member import MemberSettings, PeerDatabase

MEMBERS = tuple(f"ovn-nb-{number}.members" for number in range(3))
EMPTY, JOINED = PeerDatabase(), PeerDatabase("cluster-1", "aaaa1111")
Say = Callable[[int, Mapping[int, PeerDatabase]], list[list[str]]]


def settings() -> MemberSettings:
    return MemberSettings(
        "OVN_Northbound", "nb.ovsschema", "ovn-nbctl", 6641, 16641, 6643, 9476, MEMBERS, 10_000, 60_000
    )


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Lets the member of a number without data look for the others; returns the commands that it runs."""
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(list(map(str, command)))
        (tmp_path / "database.new").touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    def made(number: int, peers: Mapping[int, PeerDatabase]) -> list[list[str]]:
        def ask(_: MemberSettings, name: str) -> PeerDatabase | None:
            return peers.get(MEMBERS.index(name))

        monkeypatch.setattr(ovn_member.socket, "gethostname", lambda: f"ovn-nb-{number}")
        monkeypatch.setattr(ovn_member, "ask", ask)
        assert ovn_member.make(settings()) == bool(ran)
        assert (tmp_path / "database.db").exists() == bool(ran)
        return ran

    monkeypatch.setattr(ovn_member, "_DATA", tmp_path / "database.db")
    monkeypatch.setattr(ovn_member.subprocess, "run", run)
    return made


def test_the_first_member_creates_a_cluster_while_no_other_has_data(member: Say) -> None:
    ((program, timer, command, *_, address),) = member(0, {1: EMPTY, 2: EMPTY})
    assert (program, timer, command) == ("ovsdb-tool", "--election-timer=10000", "create-cluster")
    assert address == "tcp:ovn-nb-0.members:6643"


@pytest.mark.parametrize("peers", [{}, {1: EMPTY}, {2: EMPTY}])
def test_the_first_member_waits_for_each_other(member: Say, peers: Mapping[int, PeerDatabase]) -> None:
    assert member(0, peers) == []


@pytest.mark.parametrize("number", [1, 2])
def test_no_other_member_creates_a_cluster(member: Say, number: int) -> None:
    assert member(number, {each: EMPTY for each in range(3) if each != number}) == []


@pytest.mark.parametrize("peers", [{1: JOINED}, {1: JOINED, 2: EMPTY}, {1: EMPTY, 2: JOINED}])
def test_a_member_joins_the_cluster_that_another_belongs_to(member: Say, peers: Mapping[int, PeerDatabase]) -> None:
    (command,) = member(0, peers)
    there = [f"tcp:{MEMBERS[number]}:6643" for number, peer in peers.items() if peer is JOINED]
    assert command[:3] == ["ovsdb-tool", "--cid=cluster-1", "join-cluster"]
    assert command[4:] == ["OVN_Northbound", "tcp:ovn-nb-0.members:6643", *there]


def test_a_member_joins_none_of_two_clusters(member: Say) -> None:
    assert member(0, {1: JOINED, 2: PeerDatabase("cluster-2", "bbbb2222")}) == []


STATUS = """\
Cluster ID: clus (cluster-1)
Status: cluster member
Leader: self
Servers:
    aaaa (aaaa at tcp:ovn-nb-0.members:6643) (self) next_index=3 match_index=7
    bbbb (bbbb at tcp:ovn-nb-1.members:6643) last msg 941 ms ago
    cccc (cccc at tcp:ovn-nb-2.members:6643) last msg 938 ms ago
"""


@pytest.mark.parametrize(
    ("peer", "kicked"),
    [
        (PeerDatabase("cluster-1", "dddd4444"), ["bbbb"]),
        (PeerDatabase("cluster-1", "bbbb2222"), []),
        (PeerDatabase("cluster-2", "dddd4444"), []),
        (EMPTY, []),
        (None, []),
    ],
)
def test_only_an_identity_that_its_member_has_lost_is_removed(
    monkeypatch: pytest.MonkeyPatch, peer: PeerDatabase | None, kicked: list[str]
) -> None:
    said: list[str] = []

    def appctl(*words: str) -> str:
        assert words[:2] == ("cluster/kick", "OVN_Northbound")
        said.append(words[2])
        return "started removal"

    answers = {MEMBERS[1]: peer, MEMBERS[2]: PeerDatabase("cluster-1", "cccc3333")}

    def ask(_: MemberSettings, name: str) -> PeerDatabase | None:
        return answers[name]

    monkeypatch.setattr(ovn_member.socket, "gethostname", lambda: "ovn-nb-0")
    monkeypatch.setattr(ovn_member, "ask", ask)
    monkeypatch.setattr(ovn_member, "appctl", appctl)
    ovn_member.kick(settings(), STATUS)
    assert said == kicked


@pytest.mark.parametrize(
    ("status", "leader", "ready"),
    [
        ("cluster member", "self", True),
        ("cluster member", "a4fd", True),
        ("cluster member", "unknown", False),
        ("joining cluster", "a4fd", False),
        ("left cluster", "a4fd", False),
    ],
)
def test_a_member_is_ready_in_a_cluster_with_a_leader(status: str, leader: str, *, ready: bool) -> None:
    assert ovn_member.is_ready(f"Name: OVN_Northbound\nStatus: {status}\nRole: x\nLeader: {leader}\n") is ready


@pytest.mark.parametrize(
    ("text", "value"),
    [(STATUS, 1), (STATUS.replace("Leader: self", "Leader: unknown"), 0), ("", 0)],
)
def test_prometheus_reads_whether_a_member_takes_part(text: str, value: int) -> None:
    assert ovn_member.metrics(text).splitlines()[-1] == f"quorate_ovn_takes_part {value}"


def test_a_member_without_a_database_is_not_ready() -> None:
    assert not ovn_member.is_ready("")


@pytest.mark.parametrize(("now", "asked"), [(1000, "2000"), (8000, "10000"), (20000, "10000"), (10000, None)])
def test_the_election_timer_changes_in_steps(monkeypatch: pytest.MonkeyPatch, now: int, asked: str | None) -> None:
    said: list[str] = []

    def appctl(*words: str) -> str:
        said.append(words[-1])
        return ""

    monkeypatch.setattr(ovn_member, "appctl", appctl)
    ovn_member.set_timer(settings(), f"Election timer: {now}\n")
    assert said == ([asked] if asked else [])
