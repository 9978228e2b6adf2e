"""etcd's state by the metrics of five real members of a lab, fetched by its API server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from operations.living import etcd
from operations.living.answers import Answer, Unanswered
from operations.living.etcd_status import status_of
from operations.living.quorum import LivingQuorum

RECORDED = json.loads((Path(__file__).parent / "recorded" / "etcd-metrics.json").read_text(encoding="utf-8"))
NAMES = tuple(RECORDED)
HEALTH_LOST = '{"health":"false","reason":"RAFT NO LEADER"}'


def answers(*without: str) -> dict[str, Answer]:
    return {name: Answer(problem="silent") if name in without else Answer(said) for name, said in RECORDED.items()}


def read(found: dict[str, Answer]) -> LivingQuorum:
    return etcd.read("etcd", NAMES, found)


def changed(member: str, health: str = "", **metrics: str) -> dict[str, Answer]:
    said = dict(RECORDED[member])
    for name, value in metrics.items():
        lines = [f"{name} {value}" if line.startswith(f"{name} ") else line for line in said["metrics"].splitlines()]
        assert f"{name} {value}" in lines
        said["metrics"] = "\n".join(lines)
    return answers() | {member: Answer({**said, "health": health or said["health"]})}


def test_a_whole_quorum() -> None:
    found = read(answers())
    assert (found.standing, found.counting, found.needed) == ("whole", 5, 3)
    assert [member.name for member in found.members if member.leads] == ["master1"]
    assert found.figures == ("database 5 MiB of 8192 MiB",)
    assert {member.version for member in found.members} == {"3.6.16"}


def test_a_lost_member() -> None:
    found = read(answers("extra1"))
    assert (found.standing, found.counting) == ("reduced", 4)


def test_followers_of_a_leader_that_is_silent_count() -> None:
    found = read(answers("master1"))
    assert (found.standing, found.counting) == ("reduced", 4)
    assert {member.says for member in found.members if member.counts} == {"follower"}


def test_a_member_without_a_leader() -> None:
    found = read(changed("master3", etcd_server_has_leader="0"))
    assert (found.standing, found.counting) == ("reduced", 4)
    assert next(each for each in found.members if each.name == "master3").says == "has no leader"


def test_a_lost_majority() -> None:
    alone = changed("master3", HEALTH_LOST, etcd_server_has_leader="0")["master3"]
    found = read(answers(*(name for name in NAMES if name != "master3")) | {"master3": alone})
    assert (found.standing, found.counting) == ("lost", 0)


def test_leaders_without_a_successful_read_are_no_majority() -> None:
    stale = {name: Answer({**RECORDED[name], "health": HEALTH_LOST}) for name in NAMES}
    assert read(stale).standing == "lost"


def test_an_alarm() -> None:
    found = read(changed("master2", '{"health":"false","reason":"ALARM NOSPACE"}'))
    assert found.troubles == ("etcd has an alarm: ALARM NOSPACE",)


@pytest.mark.parametrize("said", ["", "<html>", "etcd_server_has_leader 1\n"])
def test_what_are_not_its_metrics(said: str) -> None:
    with pytest.raises(Unanswered):
        status_of(Answer({"metrics": said, "health": "{}"}))
