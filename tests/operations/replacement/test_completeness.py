"""What is not complete after a replacement is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operations.living.agents import LivingAgent, LivingAgents
from operations.living.cloud import LivingCloud
from operations.replacement.completeness import fenced, incomplete
from tests.operations.living.living_cloud import living, ready_node
from tests.operations.maintenance.small_cloud import PLAN

READY = [ready_node("virt1"), ready_node("messaging2")]


def heartbeat(age: int) -> LivingAgents:
    return LivingAgents((LivingAgent("nova", "nova-compute", "virt1", age, is_disabled=False),))


@pytest.mark.parametrize(
    ("cloud", "place", "missing"),
    [
        (living(PLAN, nodes=READY), "messaging2", []),
        (living(PLAN, nodes=READY), "messaging9", ["the stack file has no machine messaging9"]),
        (living(PLAN, nodes=READY), "messaging1", ["node messaging1 is not Ready"]),
        (living(PLAN, {"mysqld-2": "Joining"}, nodes=READY), "messaging2", ["mysqld-2 of mysqld: Joining"]),
        (living(PLAN, nodes=READY, problems=("no API",)), "messaging2", ["no API"]),
        (living(PLAN, nodes=READY), "virt1", ["nova-compute on virt1 has sent no heartbeat"]),
        (living(PLAN, nodes=READY, agents=heartbeat(600)), "virt1", ["nova-compute on virt1 has sent no heartbeat"]),
        (living(PLAN, nodes=READY, agents=heartbeat(5)), "virt1", []),
    ],
)
def test_what_is_missing(cloud: LivingCloud, place: str, missing: list[str]) -> None:
    assert incomplete(cloud, place) == missing


def test_a_quorum_that_nobody_asked_is_not_complete() -> None:
    cloud = living(PLAN, nodes=READY)
    first, *others = cloud.quorums
    assert incomplete(replace(cloud, quorums=(replace(first, serves=None), *others)), "messaging2") == [
        "etcd could not be asked"
    ]


def test_members_of_further_dead_machines_are_not_awaited() -> None:
    cordoned = {"unschedulable": True}
    dead = {"metadata": {"name": "database3"}, "spec": cordoned}
    nodes = [*READY, dead, {**ready_node("database1"), "spec": cordoned}, {"metadata": {"name": "database2"}}]
    cloud = living(PLAN, {"mysqld-2": "Pending", "mysqld-1": "Joining"}, nodes=nodes)
    assert fenced(cloud, "messaging2") == ["database3"]
    assert fenced(cloud, "database3") == []
    assert incomplete(cloud, "messaging2", [("mysqld", "mysqld-2")]) == ["mysqld-1 of mysqld: Joining"]
