"""Heartbeats by rows as MariaDB's client prints them."""

from __future__ import annotations

import pytest

from operations.living import agents
from operations.living.agents import LivingAgent
from operations.living.answers import Answer

NOVA = """\
agent\tnova-compute\tcmp1\t4\t0
agent\tnova-compute\tcmp2\t412\t1
agent\tnova-conductor\tnova-conductor-5f6d-abcde\t86400\t0
instances\tcmp1\t12
end
"""
NEUTRON = "agent\tOpen vSwitch agent\tcmp2\t76\t0\nagent\tL3 agent\tcmp1\t75\t0\nend\n"
CINDER = "agent\tcinder-volume\tceph@ceph\t61\t0\nend\n"
NODES = ("cmp1", "cmp2", "stor1")


def read(**said: str) -> agents.LivingAgents:
    return agents.read({project: Answer({project: text}) for project, text in said.items()})


def test_silent_agents_are_named_the_longest_first() -> None:
    found = read(nova=NOVA, neutron=NEUTRON, cinder=CINDER)
    assert found.silent(NODES, {}) == (
        LivingAgent("nova", "nova-compute", "cmp2", 412, is_disabled=True),
        LivingAgent("neutron", "Open vSwitch agent", "cmp2", 76, is_disabled=False),
        LivingAgent("cinder", "cinder-volume", "ceph@ceph", 61, is_disabled=False),
    )
    assert found.instances == {"cmp1": 12}
    assert found.unasked == ()


@pytest.mark.parametrize(("pods", "named"), [(["stor1"], []), (["stor1", "cmp2"], ["cmp2"]), ([], [])])
def test_a_scheduler_that_has_moved_is_not_silent(pods: list[str], named: list[str]) -> None:
    found = read(nova="agent\tnova-scheduler\tcmp2\t412\t0\nend\n")
    assert [each.host for each in found.silent(NODES, {"nova-scheduler": pods})] == named


def test_a_database_without_agents() -> None:
    found = read(nova="end\n")
    assert (found.agents, found.instances, found.unasked) == ((), {}, ())


@pytest.mark.parametrize(
    "said", ["", NOVA.removesuffix("end\n"), "agent\tnova-compute\tcmp1\n", "agent\ta\tb\tx\t0\nend\n"]
)
def test_what_is_not_complete_is_not_read(said: str) -> None:
    found = read(nova=said)
    assert found.instances is None
    assert len(found.unasked) == 1
    assert found.unasked[0].startswith("the agents of nova were not read")


def test_a_member_that_does_not_answer_is_said() -> None:
    found = agents.read({"nova": Answer(problem="no member of mysqld takes part")})
    assert found.unasked == ("the agents of nova were not read: no member of mysqld takes part",)


def test_the_questions_are_one_command_line_without_substitutions() -> None:
    for line in agents.questions(("nova", "neutron", "cinder")).values():
        assert not {"`", "$", "\n"} & set(line)
