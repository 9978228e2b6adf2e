"""The state of an OVN database by answers in the form that ovsdb-server 3.5 gave in the test bed."""

from __future__ import annotations

from operations.living import ovn
from operations.living.answers import Answer
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import dead, garbage

NAMES = ("ovn-nb-0", "ovn-nb-1", "ovn-nb-2")
IDS = {"869e": "ovn-nb-0", "a4fd": "ovn-nb-1", "de00": "ovn-nb-2"}


def member(server: str, leader: str = "a4fd", servers: dict[str, str] | None = None, waiting: int = 0) -> Answer:
    lines = [
        f"    {each} ({each} at tcp:{name}.ovn-nb-members.openstack.svc.cluster.local:6643) last msg 24 ms ago"
        for each, name in (servers or IDS).items()
    ]
    text = f"""\
{server}
Name: OVN_Northbound
Cluster ID: dda1 (dda18cee-db8c-4ea6-b538-f9a45dfbc4c8)
Server ID: {server} ({server}3104-7d79-4461-b0f3-400d1c97ac4e)
Address: tcp:{IDS.get(server, NAMES[0])}.ovn-nb-members.openstack.svc.cluster.local:6643
Status: cluster member
Role: {"leader" if server == leader else "follower"}
Term: 3
Leader: {"self" if server == leader else leader}
Vote: unknown

Election timer: 10000
Log: [2, 13]
Entries not yet committed: {waiting}
Entries not yet applied: 0
Connections: ->0000 ->0000 <-a4fd <-de00
Disconnections: 0
Servers:
"""
    return Answer({"status": text + "\n".join(lines) + "\n"})


def read(found: dict[str, Answer]) -> LivingQuorum:
    return ovn.read("ovn-nb", NAMES, found)


def test_a_whole_database() -> None:
    found = read({name: member(server) for server, name in IDS.items()})
    assert (found.standing, found.counting, found.kind) == ("whole", 3, "ovn")
    assert [each.name for each in found.members if each.leads] == ["ovn-nb-1"]
    assert [each.says for each in found.members] == ["follower", "leader", "follower"]


def test_a_lost_member() -> None:
    found = read({name: member(server) for server, name in list(IDS.items())[:2]} | dead(NAMES[2]))
    assert (found.standing, found.counting, found.needed) == ("reduced", 2, 2)


def test_a_member_that_goes_on_alone_is_its_own_majority() -> None:
    """The others were lost for good, and have no vote until they have joined the new cluster."""
    alone = {"de00": NAMES[2]}
    found = read({NAMES[2]: member("de00", "de00", alone)} | dead(*NAMES[:2]))
    assert (found.standing, found.counting, found.needed) == ("reduced", 1, 1)
    assert [each.votes for each in found.members] == [False, False, True]
    assert found.troubles == ("not in the list of members: ovn-nb-0, ovn-nb-1",)
    two = alone | {"a4fd": NAMES[1]}
    found = read({NAMES[2]: member("de00", "de00", two)} | dead(*NAMES[:2]))
    assert (found.standing, found.needed) == ("lost", 2)


def test_members_without_a_leader() -> None:
    alone = {name: member(server, leader="unknown") for server, name in list(IDS.items())[:1]}
    found = read(alone | dead(*NAMES[1:]))
    assert (found.standing, found.members[0].says) == ("lost", "cluster member, knows no leader")


def test_a_member_that_follows_another_leader() -> None:
    others = {name: member(server) for server, name in list(IDS.items())[1:]}
    found = read({NAMES[0]: member("869e", leader="869e"), **others})
    assert (found.standing, found.members[0].says) == ("reduced", "follows another leader, self")


def test_an_identity_that_is_not_removed_yet() -> None:
    twice = {"f416": "ovn-nb-0", **IDS}
    found = read({name: member(server, servers=twice) for server, name in IDS.items()})
    assert found.standing == "reduced"
    assert found.troubles == ("ovn-nb-0 is 2 times in the list of members: the old identity is not removed yet",)


def test_a_member_that_the_cluster_does_not_have() -> None:
    servers = {server: name for server, name in IDS.items() if name != NAMES[0]}
    found = read({name: member(server, servers=servers) for server, name in IDS.items()})
    assert found.troubles == ("not in the list of members: ovn-nb-0",)


def test_a_leader_whose_log_waits() -> None:
    found = read({name: member(server, waiting=5000) for server, name in IDS.items()})
    assert found.troubles == ("5000 entries of the leader's log wait",)


def test_a_member_that_waits_for_the_others_has_no_database() -> None:
    waits = {name: Answer({"status": ""}) for name in NAMES}
    found = read(waits)
    assert found.serves is None
    assert {each.says for each in found.members} == {"no answer to the question for its status"}


def test_members_that_cannot_be_asked() -> None:
    assert read(dead(*NAMES)).standing == "unknown"
    assert read(garbage(*NAMES)).standing == "unknown"
