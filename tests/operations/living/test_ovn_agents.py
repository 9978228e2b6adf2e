"""OVN's agents by rows as ovsdb-client 3.5 prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operations.living import ovn_agents
from operations.living.agents import LivingAgent, LivingAgents
from operations.living.answers import Answer

NOW = 1_780_000_000
NODES = ("compute-1", "compute-2")


def row(node: str, number: int, metadata: int | None, ago: int = 200) -> dict[str, Any]:
    pairs = [] if metadata is None else [["neutron:ovn-metadata-sb-cfg", str(metadata)]]
    pairs.append(["neutron:ovn-bridge", "br-int"])
    stamp = (NOW - ago) * 1000 + 999
    return {"name": node, "nb_cfg": number, "nb_cfg_timestamp": stamp, "external_ids": ["map", pairs]}


def read(newest: int, *rows: dict[str, Any]) -> LivingAgents:
    said = json.dumps([{"rows": list(rows)}, {"rows": [{"nb_cfg": newest}]}])
    return ovn_agents.read(Answer({"chassis": said, "time": f"{NOW}\n"}), LivingAgents())


def named(found: LivingAgents) -> list[tuple[str, str, int]]:
    return [(each.kind, each.host, each.age) for each in found.silent(NODES, {})]


def test_agents_that_have_answered() -> None:
    found = read(7, row("compute-1", 7, 7), row("compute-2", 7, 7, ago=190))
    assert found.agents[1] == LivingAgent("neutron", "neutron-ovn-metadata-agent", "compute-1", 0, is_disabled=False)
    assert (len(found.agents), named(found), found.ovn_asked) == (4, [], 190)


def test_an_agent_that_owes_an_answer_is_silent() -> None:
    found = read(7, row("compute-1", 7, 6), row("compute-2", 6, 6, ago=4000))
    assert named(found) == [
        ("neutron-ovn-metadata-agent", "compute-1", 200),
        ("ovn-controller", "compute-2", 200),
        ("neutron-ovn-metadata-agent", "compute-2", 200),
    ]


def test_a_question_that_was_just_asked_makes_nobody_silent() -> None:
    assert named(read(8, row("compute-1", 7, 7), row("compute-2", 7, 7))) == []
    assert named(read(8, row("compute-1", 8, 7, ago=3), row("compute-2", 7, 7))) == []


def test_nobody_has_answered_two_questions() -> None:
    assert len(named(read(9, row("compute-1", 7, 7), row("compute-2", 7, 7)))) == 4


def test_a_metadata_agent_that_nobody_has_asked_yet_is_neither_alive_nor_silent() -> None:
    found = read(7, row("compute-1", 7, None))
    assert [each.kind for each in found.agents] == ["ovn-controller"]


def test_without_a_question_nothing_is_known() -> None:
    assert read(0, row("compute-1", 0, 0)) == LivingAgents()
    assert read(3) == LivingAgents()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(problem="no member of ovn-sb takes part"),
        Answer({"time": "1780000000"}),
        Answer({"chassis": "[]", "time": "1780000000"}),
        Answer({"chassis": '[{"rows": [{"name": "a"}]}, {"rows": [{"nb_cfg": 1}]}]', "time": "1780000000"}),
        Answer({"chassis": '[{"rows": []}, {"rows": [{"nb_cfg": 1}]}]', "time": "x"}),
    ],
)
def test_what_cannot_be_read_is_said(answer: Answer) -> None:
    others = LivingAgents(unasked=("the agents of nova were not read: x",))
    found = ovn_agents.read(answer, others)
    assert (found.agents, found.ovn_asked, len(found.unasked)) == ((), None, 2)
    assert found.unasked[1].startswith("the agents of OVN were not read: ")


def test_the_questions_are_one_command_line_without_substitutions() -> None:
    for line in ovn_agents.questions().values():
        assert not {"`", "$", "\n"} & set(line)
