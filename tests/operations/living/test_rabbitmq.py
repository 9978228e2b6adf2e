"""RabbitMQ's state by recorded answers of three real members of 4.0, and by answers changed from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from operations.living import rabbitmq
from operations.living.answers import Answer
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import answers, dead, garbage

NAMES = ("rabbitmq-0", "rabbitmq-1", "rabbitmq-2")


def read(found: dict[str, Answer]) -> LivingQuorum:
    return rabbitmq.read("rabbitmq", NAMES, found)


def with_queues(**counts: Any) -> dict[str, Answer]:
    """The whole cluster, with other numbers of replicated queues."""
    found = answers("rabbitmq-whole")
    for member, answer in found.items():
        said = json.loads(answer.parts["queues"])
        said["value"] |= counts
        found[member] = Answer({**answer.parts, "queues": json.dumps(said)})
    return found


def test_a_whole_cluster() -> None:
    found = read(answers("rabbitmq-whole"))
    assert (found.standing, found.counting, found.needed) == ("whole", 3, 2)
    assert (found.figures, found.troubles, found.notes) == (("1 replicated queues",), (), ())
    assert {member.version for member in found.members} == {"4.0.5"}


@pytest.mark.parametrize("state", ["rabbitmq-one-lost", "rabbitmq-paused"])
def test_a_member_that_is_lost_or_paused(state: str) -> None:
    found = read(answers(state))
    assert (found.standing, found.serves, found.counting) == ("reduced", True, 2)
    assert [member.name for member in found.members if not member.counts] == ["rabbitmq-2"]
    assert found.notes == ("1 replicated queues lack a replica that runs",)


def test_a_member_that_goes_on_alone_after_a_pause() -> None:
    """Seen: 15 s after a pause of 75 s it accepts clients, and sees none of the others."""
    found = read(answers("rabbitmq-thawed"))
    assert (found.standing, found.counting) == ("reduced", 2)
    assert found.members[2].says == "runs alone: it does not see the others"
    expected = "partition: rabbitmq-2 says that rabbitmq-2 does not reach rabbitmq-0, rabbitmq-1"
    assert found.troubles == (expected,)


def test_a_lost_majority() -> None:
    found = read(answers("rabbitmq-two-lost"))
    # The member that is left has paused its broker, so that it gives no status; all three were reached.
    assert (found.standing, found.counting) == ("lost", 0)
    assert "requires the 'rabbit' app to be running" in found.members[0].says


def test_members_that_all_go_on_alone_have_no_majority() -> None:
    found = answers("rabbitmq-whole")
    for member, answer in found.items():
        status = answer.document("cluster")
        own = [node for node in status["running_nodes"] if node.startswith(f"rabbit@{member}.")]
        found[member] = Answer({**answer.parts, "cluster": json.dumps(status | {"running_nodes": own})})
    assert (read(found).standing, read(found).serves) == ("lost", False)


def alone(listed: Sequence[str]) -> dict[str, Answer]:
    """The answers after two members were lost for good: the third runs, and lists these members."""
    status = answers("rabbitmq-whole")["rabbitmq-0"].document("cluster")
    nodes = {rabbitmq_node.partition("@")[2].partition(".")[0]: rabbitmq_node for rabbitmq_node in status["disk_nodes"]}
    status |= {"running_nodes": [nodes["rabbitmq-0"]], "disk_nodes": [nodes[each] for each in listed]}
    return dead(*NAMES) | {"rabbitmq-0": Answer({"cluster": json.dumps(status)})}


def test_a_cluster_that_goes_on_alone_is_its_own_majority() -> None:
    found = read(alone(NAMES[:1]))
    assert (found.standing, found.serves, found.counting, found.needed) == ("reduced", True, 1, 1)
    assert [member.name for member in found.members if not member.votes] == ["rabbitmq-1", "rabbitmq-2"]


def test_a_member_that_lists_lost_ones_has_no_majority() -> None:
    found = read(alone(NAMES))
    assert (found.standing, found.serves, found.needed) == ("lost", False, 2)


def test_clusters_of_one_member_each_are_no_majority() -> None:
    found = {name: alone(NAMES[:1])["rabbitmq-0"] for name in NAMES}
    for name, answer in found.items():
        found[name] = Answer({"cluster": answer.parts["cluster"].replace("rabbitmq-0", name)})
    assert (read(found).standing, read(found).needed) == ("lost", 2)


def test_members_that_cannot_be_asked() -> None:
    assert read(dead(*NAMES)).standing == "unknown"


def test_garbage_is_no_answer() -> None:
    assert read(garbage(*NAMES)).standing == "unknown"


def test_an_alarm_blocks_publishers() -> None:
    found = read(answers("rabbitmq-alarm"))
    assert "rabbitmq-0 has an alarm (disk): publishers are blocked on all members" in found.troubles


def test_queues_without_a_majority() -> None:
    found = read(with_queues(all=7, lost=2, named=["queue 'a' in vhost 'nova'"]))
    assert found.standing == "reduced"
    assert found.troubles == ("2 replicated queues have no majority, such as queue 'a' in vhost 'nova'",)


def test_members_without_which_queues_would_lose_their_majority() -> None:
    critical = {
        f"rabbit@{name}.rabbitmq-members.openstack.svc": count for name, count in zip(NAMES, (31, 31, 0), strict=True)
    }
    found = read(with_queues(critical=critical))
    assert found.standing == "whole"
    assert found.critical == {
        name: f"31 replicated queues would lose their majority without {name}" for name in NAMES[:2]
    }


def test_leaders_on_one_member_are_a_note() -> None:
    nodes = [f"rabbit@{name}.rabbitmq-members.openstack.svc" for name in NAMES]
    found = read(with_queues(led=dict(zip(nodes, (30, 1, 2), strict=True))))
    assert found.standing == "whole"
    assert found.notes == (
        "leaders of replicated queues are not balanced: 30 on rabbitmq-0 of 33 (rabbitmq-queues rebalance)",
    )
    assert not read(with_queues(led=dict(zip(nodes, (9, 1, 2), strict=True)))).notes


def test_queues_that_cannot_be_counted_are_not_whole() -> None:
    found = answers("rabbitmq-whole")
    without = {member: Answer({"cluster": each.parts["cluster"]}) for member, each in found.items()}
    assert read(without).standing == "reduced"
    assert read(without).troubles == ("its replicated queues could not be counted",)
