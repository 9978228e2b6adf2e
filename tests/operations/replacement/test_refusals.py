"""A quorum that would lose its majority keeps its member, but for one of which nothing is left."""

from __future__ import annotations

from dataclasses import replace

from operations.living.quorum import LivingMember, LivingQuorum
from operations.replacement.dead_machine import DeadMachine
from operations.replacement.refusals import unsafe
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import PLAN

NODE = next(node for node in PLAN.nodes if node.name == "messaging2")


def reasons(quorum: str, kind: str, *members: str) -> list[str]:
    """Why the first member may not be removed from a quorum none of whose members answers."""
    lost = tuple(LivingMember(each, counts=False, says="no answer") for each in members)
    cloud = replace(living(PLAN), quorums=(LivingQuorum(quorum, kind, lost, serves=None),))
    dead = DeadMachine(NODE, False, ((quorum, members[0]),), volumes=(), osds=(), is_compute=False, has_agents=False)
    return unsafe(cloud, dead)


def test_the_only_member_of_opensearch_may_go() -> None:
    assert reasons("logs", "opensearch", "logs-0") == []


def test_others_of_its_members_are_asked_first() -> None:
    assert reasons("logs", "opensearch", "logs-0", "logs-1") == [
        "logs could not be asked; make one of its members answer first"
    ]


def test_the_only_member_of_another_quorum_stays() -> None:
    (reason,) = reasons("rabbitmq", "rabbitmq", "rabbitmq-0")
    assert reason.startswith("rabbitmq could not be asked")


def test_a_galera_that_goes_on_alone_has_forgotten_the_others() -> None:
    members = tuple(LivingMember(f"mysqld-{each}", counts=each == 2, says="") for each in range(3))

    def asked(kind: str, dead: str, *, serves: bool) -> list[str]:
        cloud = replace(living(PLAN), quorums=(LivingQuorum("mysqld", kind, members, serves),))
        machine = DeadMachine(NODE, False, (("mysqld", dead),), (), (), is_compute=False, has_agents=False)
        return unsafe(cloud, machine)

    assert asked("galera", "mysqld-0", serves=True) == []
    assert "needs 2 of 3 members" in asked("galera", "mysqld-0", serves=False)[0]
    assert "needs 2 of 3 members" in asked("galera", "mysqld-2", serves=True)[0], "it would take the data with it"
    assert "needs 2 of 3 members" in asked("rabbitmq", "mysqld-0", serves=True)[0]
