"""OpenSearch's state by answers in the form of its documentation, which OpenSearch 2.19.6 has too."""

from __future__ import annotations

import json
from typing import Any

from operations.living import opensearch
from operations.living.answers import Answer
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import dead, garbage

NAMES = ("elasticsearch-kibana-0", "elasticsearch-kibana-1", "elasticsearch-kibana-2")
HEALTH = {
    "cluster_name": "openstack",
    "status": "green",
    "timed_out": False,
    "number_of_nodes": 3,
    "discovered_cluster_manager": True,
    "active_shards": 24,
    "unassigned_shards": 0,
}
NO_MANAGER = {"error": {"type": "cluster_manager_not_discovered_exception", "reason": None}, "status": 503}


def member(nodes: tuple[str, ...] = NAMES, **health: Any) -> Answer:
    listed = [{"name": name, "version": "3.1.0", "cluster_manager": "*" if name == NAMES[0] else "-"} for name in nodes]
    return Answer({"health": json.dumps(HEALTH | health), "nodes": json.dumps(listed)})


def read(found: dict[str, Answer]) -> LivingQuorum:
    return opensearch.read("elasticsearch-kibana", NAMES, found)


def test_a_whole_cluster() -> None:
    found = read({name: member() for name in NAMES})
    assert (found.standing, found.counting) == ("whole", 3)
    assert [each.name for each in found.members if each.leads] == [NAMES[0]]
    assert found.figures == ("3 nodes, 24 shards active",)


def test_a_lost_member() -> None:
    left = {name: member(NAMES[:2], status="yellow", number_of_nodes=2) for name in NAMES[:2]}
    found = read(left | dead(NAMES[2]))
    assert (found.standing, found.counting) == ("reduced", 2)
    assert found.notes == ("replicas of some indices are not placed (yellow)",)


def test_a_member_that_the_manager_does_not_know() -> None:
    found = read({name: member(NAMES[:2]) for name in NAMES})
    assert (found.standing, found.members[2].says) == ("reduced", "the elected manager does not know it")


def test_a_lost_majority() -> None:
    alone = Answer({"health": json.dumps(NO_MANAGER)})
    found = read({NAMES[0]: alone} | dead(*NAMES[1:]))
    assert (found.standing, found.members[0].says) == ("lost", "knows no elected manager")


def test_members_that_cannot_be_asked() -> None:
    assert read(dead(*NAMES)).standing == "unknown"


def test_garbage_is_no_answer() -> None:
    assert read(garbage(*NAMES)).standing == "unknown"


def test_red_indices_are_a_trouble() -> None:
    found = read({name: member(status="red", unassigned_shards=4) for name in NAMES})
    assert found.standing == "reduced"
    assert found.troubles == ("some indices are not available (red): 4 shards have no place",)
