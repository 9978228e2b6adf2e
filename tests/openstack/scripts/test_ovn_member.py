"""Which members of an OVN database create, join or wait, and which identities the leader removes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from openstack.scripts.ovn_member import cluster, data, server
from openstack.scripts.ovn_member import peers as asked
from openstack.scripts.ovn_member.peers import MemberSettings, PeerDatabase

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

        monkeypatch.setattr(asked.socket, "gethostname", lambda: f"ovn-nb-{number}")
        monkeypatch.setattr(asked, "ask", ask)
        assert data.make(settings()) == bool(ran)
        assert (tmp_path / "database.db").exists() == bool(ran)
        return ran

    monkeypatch.setattr(data, "DATA", tmp_path / "database.db")
    monkeypatch.setattr(data.subprocess, "run", run)
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

    monkeypatch.setattr(cluster, "appctl", appctl)
    cluster.kick(settings(), STATUS, answers)
    assert said == kicked


OLD, NEW = PeerDatabase("cluster-1", "bbbb2222"), PeerDatabase("cluster-9", "cccc9999")


class Volume:
    """The volume of the first member, with data of `cluster-1`, beside others that answer."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.said = path, list[tuple[str, ...]]()
        self.peers: dict[str, PeerDatabase | None] = {MEMBERS[1]: OLD, MEMBERS[2]: NEW}
        self.replaced = {MEMBERS[2]: ["cluster-0", "cluster-1"]}
        """Of which clusters the database of each other member says that it replaces them."""
        path.touch()
        monkeypatch.setattr(data, "DATA", path)
        monkeypatch.setattr(asked.socket, "gethostname", lambda: "ovn-nb-0")
        monkeypatch.setattr(asked, "ask", lambda _own, name: self.peers[name])  # type: ignore[misc]
        monkeypatch.setattr(data.subprocess, "run", self.run)
        monkeypatch.setattr(cluster, "appctl", self.appctl)
        monkeypatch.setattr(server, "appctl", self.appctl)
        self.status = STATUS

    def appctl(self, *words: str) -> str:
        if words[0] == "cluster/status":
            return self.status
        self.said.append(words)
        return ""

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """Answers the question which clusters a database replaces."""
        if command[0] != "ovsdb-client":  # sets the remotes
            return subprocess.CompletedProcess(command, 1, "", "")
        assert "--no-leader-only" in command, "a member that does not lead answers too"
        scheme, member, port = command[-2].split(":")
        assert (scheme, port) == ("tcp", "16641")
        assert json.loads(command[-1])[1]["table"] == "NB_Global"
        pairs = [[f"quorate-replaced-{each}", "2026-11-30T18:00:00Z"] for each in self.replaced.get(member, [])]
        said = [{"rows": [{"external_ids": ["map", [["neutron", "x"], *pairs]]}]}]
        return subprocess.CompletedProcess(command, 0, json.dumps(said), "")

    @property
    def is_aside(self) -> bool:
        assert self.path.exists() != self.path.with_suffix(".former").exists()
        return not self.path.exists()


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Volume:
    return Volume(tmp_path / "database.db", monkeypatch)


def test_data_of_a_cluster_that_another_one_replaces_are_put_aside(volume: Volume) -> None:
    """As a member that was called dead and comes back."""
    cluster.watch(settings())
    assert volume.is_aside
    assert volume.said[-1] == ("ovsdb-server/remove-db", "OVN_Northbound")
    assert not any("cluster/kick" in words for words in volume.said)


@pytest.mark.parametrize("leader", ["self", "unknown"])
def test_a_member_that_leads_or_has_no_leader_asks_the_others(volume: Volume, leader: str) -> None:
    volume.status = STATUS.replace("self", leader, 1)
    cluster.watch(settings())
    assert volume.is_aside


def test_a_member_that_follows_asks_nobody(volume: Volume) -> None:
    """Its leader asks, and has none any more when that one has left."""
    volume.status = STATUS.replace("Leader: self", "Leader: bbbb")
    cluster.watch(settings())
    assert not volume.is_aside
    assert volume.path.with_name("served").exists()


@pytest.mark.parametrize(
    ("peer", "replaced"),
    [
        (OLD, ["cluster-1"]),  # the same cluster, whatever its database says
        (EMPTY, ["cluster-1"]),
        (None, ["cluster-1"]),
        (NEW, []),
        (NEW, ["cluster-11", "cluster-9"]),
    ],
)
def test_other_data_stay(volume: Volume, peer: PeerDatabase | None, replaced: list[str]) -> None:
    """Also beside a cluster that says nothing of this one: which of both is right is not known."""
    volume.peers[MEMBERS[2]], volume.replaced[MEMBERS[2]] = peer, replaced
    cluster.watch(settings())
    assert not volume.is_aside


def test_when_it_last_took_part_is_recorded_while_it_does(volume: Volume) -> None:
    volume.peers[MEMBERS[2]] = None
    served = volume.path.with_name("served")
    volume.status = STATUS.replace("Leader: self", "Leader: unknown")
    cluster.watch(settings())
    assert not served.exists()
    volume.status = STATUS
    cluster.watch(settings())
    assert served.exists()


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
    assert server.is_ready(f"Name: OVN_Northbound\nStatus: {status}\nRole: x\nLeader: {leader}\n") is ready


@pytest.mark.parametrize(
    ("text", "value"),
    [(STATUS, 1), (STATUS.replace("Leader: self", "Leader: unknown"), 0), ("", 0)],
)
def test_prometheus_reads_whether_a_member_takes_part(text: str, value: int) -> None:
    assert server.metrics(text).splitlines()[-1] == f"quorate_ovn_takes_part {value}"


def test_a_member_without_a_database_is_not_ready() -> None:
    assert not server.is_ready("")


@pytest.mark.parametrize(("now", "asked"), [(1000, "2000"), (8000, "10000"), (20000, "10000"), (10000, None)])
def test_the_election_timer_changes_in_steps(monkeypatch: pytest.MonkeyPatch, now: int, asked: str | None) -> None:
    said: list[str] = []

    def appctl(*words: str) -> str:
        said.append(words[-1])
        return ""

    monkeypatch.setattr(cluster, "appctl", appctl)
    cluster.set_timer(settings(), f"Election timer: {now}\n")
    assert said == ([asked] if asked else [])
