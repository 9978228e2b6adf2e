"""Which members leave a quorum, by the pure function that rules and changes share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.facts.membership import EMPTY, Departure, MemberNode, QuorumState, departures, hosts_left

A = MemberNode("s1", "10.0.0.1", "mysqld", frozenset({"vda file=/a"}))
B, C = replace(A, server="s2"), replace(A, server="s3")
THREE = QuorumState(3, {"a": A, "b": B, "c": C})


def but(name: str, node: MemberNode | None, members: int = 3) -> QuorumState:
    """Returns the three nodes of a quorum with one node changed or removed."""
    nodes = {**THREE.nodes, name: node}
    return QuorumState(members, {name: each for name, each in nodes.items() if each is not None})


@pytest.mark.parametrize(
    ("after", "lost", "words"),
    [
        (THREE, 0, ""),
        (but("a", None), 1, "a no longer among its nodes"),
        (but("a", None, 2), 1, "a no longer among its nodes; 2 members instead of 3"),
        (but("a", replace(A, server="s9")), 1, "a on another physical host"),
        (but("a", replace(A, address="10.0.0.9")), 1, "a at another address"),
        (but("a", replace(A, pool="rabbitmq")), 1, "a in another pool"),
        (but("a", replace(A, data=frozenset({"vda file=/b"}))), 1, "a without its data"),
        (but("a", replace(A, data=A.data | {"vdb file=/b"})), 0, ""),
        (but("d", B), 0, ""),
        (QuorumState(2, THREE.nodes), 1, "2 members instead of 3"),
        (EMPTY, 3, "a, b, c no longer among its nodes; 0 members instead of 3"),
    ],
)
def test_each_reason_to_leave(after: QuorumState, lost: int, words: str) -> None:
    departure = Departure(THREE, after)
    assert (departure.lost, departure.words) == (lost, words)


def test_what_was_not_recorded_is_not_compared() -> None:
    bare = QuorumState(1, {"a": MemberNode("s1")})
    assert Departure(bare, QuorumState(1, {"a": A})).lost == 0


def test_more_nodes_than_members() -> None:
    """Each node that leaves counts as a lost member, up to the number of members."""
    two = QuorumState(2, THREE.nodes)
    assert Departure(two, replace(two, nodes={"a": A})).lost == 2
    assert Departure(two, replace(two, nodes={})).lost == 2


@pytest.mark.parametrize(
    ("after", "hosts"),
    [
        ({"one": but("a", None), "other": but("a", None)}, 1),
        ({"one": but("a", None), "other": but("b", None)}, 2),
        ({"one": but("a", None), "other": QuorumState(2, THREE.nodes)}, 2),
        ({"one": QuorumState(2, THREE.nodes), "other": QuorumState(2, THREE.nodes)}, 2),
        ({"one": but("a", None, 2), "other": THREE}, 1),
        ({"one": THREE}, 3),
    ],
    ids=["the same host", "two hosts", "a host and a replica", "two replicas", "a host with its replica", "a quorum"],
)
def test_hosts_of_all_quorums_together(after: dict[str, QuorumState], hosts: int) -> None:
    assert hosts_left(departures({"one": THREE, "other": THREE}, after).values()) == hosts


STATES = st.builds(
    QuorumState,
    st.integers(0, 5),
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from([A, B, C, MemberNode("s1")]), max_size=5),
)


@given(STATES, STATES)
def test_no_more_leave_than_there_were_and_none_from_an_unchanged_quorum(
    before: QuorumState, after: QuorumState
) -> None:
    departure = Departure(before, after)
    assert 0 <= departure.lost <= before.members
    assert Departure(before, before).lost == 0
    assert departure.lost >= before.members - after.members
    assert bool(departure.lost) is bool(departure.words) or before.members == 0
