"""etcd's state by recorded answers of three real members of 3.6, and by answers that are changed from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operations.living import etcd
from operations.living.answers import Answer
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import answers, dead, garbage

NAMES = ("etcd-0", "etcd-1", "etcd-2")


def read(found: dict[str, Answer]) -> LivingQuorum:
    return etcd.read("etcd", NAMES, found)


def changed(member: str, **status: Any) -> dict[str, Answer]:
    """The whole quorum, with other values in the status of one member."""
    found = answers("etcd-whole")
    said = json.loads(found[member].parts["status"])
    said[0]["Status"] |= status
    return found | {member: Answer({**found[member].parts, "status": json.dumps(said)})}


def test_a_whole_quorum() -> None:
    found = read(answers("etcd-whole"))
    assert (found.standing, found.counting, found.needed) == ("whole", 3, 2)
    assert [member.name for member in found.members if member.leads] == ["etcd-2"]
    assert found.figures == ("database 0 MiB of 8192 MiB",)
    assert {member.version for member in found.members} == {"3.6.16"}


@pytest.mark.parametrize("state", ["etcd-one-lost", "etcd-paused"])
def test_a_member_that_is_lost_or_paused(state: str) -> None:
    found = read(answers(state))
    assert (found.standing, found.serves, found.counting) == ("reduced", True, 2)
    assert [member.name for member in found.members if not member.counts] == ["etcd-2"]
    assert "context deadline exceeded" in found.members[2].says


def test_a_lost_majority() -> None:
    found = read(answers("etcd-two-lost"))
    assert (found.standing, found.serves, found.counting) == ("lost", False, 0)
    assert found.members[0].says == "has no leader"


def test_members_that_cannot_be_asked() -> None:
    found = read(dead(*NAMES))
    assert (found.standing, found.serves) == ("unknown", None)
    assert {member.says for member in found.members} == {"it has no pod"}


def test_garbage_is_no_answer() -> None:
    found = read(garbage(*NAMES))
    assert (found.standing, found.counting) == ("unknown", 0)


def test_one_member_alone_is_whole_only_as_a_quorum_of_one() -> None:
    found = answers("etcd-whole")
    alone = {"etcd-2": found["etcd-2"]}
    assert etcd.read("etcd", ("etcd-2",), alone).counting == 1
    # Its own list names two more, which the stack does not have and nobody asked.
    assert etcd.read("etcd", ("etcd-2",), alone).standing == "lost"


def test_a_learner_serves_without_a_vote() -> None:
    found = read(changed("etcd-0", isLearner=True))
    assert (len(found.voters), found.counting, found.needed) == (2, 2, 2)
    assert found.members[0].says == "learner, without a vote"


def test_a_member_that_is_far_behind_is_in_trouble() -> None:
    found = read(changed("etcd-2", raftIndex=6000, raftAppliedIndex=6000))
    assert found.standing == "reduced"
    assert [member.name for member in found.members if member.troubles] == ["etcd-0", "etcd-1"]
    assert found.members[0].says.startswith("follower, 59")


def test_an_alarm_is_not_whole() -> None:
    found = read(changed("etcd-1", errors=["memberID:14255558261132528347 alarm:NOSPACE "]))
    assert found.standing == "reduced"
    assert "alarm:NOSPACE" in found.troubles[0]


def test_a_database_near_its_quota_is_named() -> None:
    found = read(changed("etcd-1", dbSize=7 * 2**30))
    assert found.standing == "whole"
    assert found.notes == ("the database of etcd-1 has 88% of its quota: a full one stops all writes",)


def test_members_of_two_versions() -> None:
    assert read(changed("etcd-1", version="3.5.26")).standing == "reduced"


def test_a_member_that_follows_another_leader_does_not_count() -> None:
    found = read(changed("etcd-0", leader=1))
    assert (found.standing, found.members[0].counts) == ("reduced", False)


def test_a_full_disk_is_named_even_if_the_member_is_silent() -> None:
    full = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda 10 10 0 100% /var/lib/etcd\n"
    found = read(answers("etcd-whole") | {"etcd-0": Answer({"disk": full}, problem="connection refused")})
    assert found.members[0].troubles == ("its disk is 100 % full",)


def test_questions_of_a_user_that_is_not_root() -> None:
    asked = etcd.questions_as_root("10.0.0.1")
    assert "https://10.0.0.1:2379" in asked["status"]
    assert "sudo -n" in asked["members"]
