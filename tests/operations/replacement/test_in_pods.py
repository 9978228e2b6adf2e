"""A member of RabbitMQ is forgotten once, also if the answer is lost, and one that goes on alone lists itself only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from cluster.pod_exec import CommandOutput
from console.errors import UserError
from operations import cloud_pods
from operations.cloud_pods import PodAnswer
from operations.live_cluster import LiveCluster
from operations.living.quorum import LivingMember, LivingQuorum
from operations.replacement.dead_machine import DeadMachine
from operations.replacement.in_pods import as_listed, forget_broker
from operations.replacement.refusals import unsafe
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import PLAN

DEAD = "rabbit@rabbitmq-0.rabbitmq-members.openstack.svc"
OTHER = "rabbit@rabbitmq-1.rabbitmq-members.openstack.svc"


def forgetting(monkeypatch: pytest.MonkeyPatch, *, is_done: bool) -> str:
    """Forgets a member by a command that is refused. `is_done`: whether the cluster has forgotten it all the same."""
    listed = [DEAD, OTHER]

    def run(_cluster: LiveCluster, _process: str, _container: str, command: Sequence[str]) -> PodAnswer:
        if "cluster_status" in command:
            status = {"disk_nodes": list(listed), "running_nodes": [OTHER]}
            return PodAnswer("rabbitmq-1", CommandOutput(json.dumps(status), "", 0))
        if is_done:
            listed.remove(DEAD)
        return PodAnswer("rabbitmq-1", CommandOutput("", "not_a_cluster_node", 70))

    monkeypatch.setattr(cloud_pods, "run", run)
    return forget_broker(cast("Any", None), "rabbitmq", "rabbitmq-0")


def test_a_second_pod_has_nothing_to_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forgetting(monkeypatch, is_done=True) == f"rabbitmq has forgotten {DEAD}"


def test_a_member_that_is_still_listed_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="not_a_cluster_node"):
        forgetting(monkeypatch, is_done=False)


@pytest.mark.parametrize(
    ("listed", "said"),
    [((OTHER,), []), ((DEAD, OTHER), ["rabbitmq needs 2 of 3 members"]), (None, ["rabbitmq needs 2 of 3 members"])],
)
def test_a_broker_that_goes_on_alone_has_lost_nobody(
    monkeypatch: pytest.MonkeyPatch, listed: tuple[str, ...] | None, said: list[str]
) -> None:
    def run(_cluster: LiveCluster, _process: str, _container: str, _command: Sequence[str]) -> PodAnswer:
        if listed is None:
            raise UserError("none of its pods is ready")
        return PodAnswer(
            "rabbitmq-1", CommandOutput(json.dumps({"disk_nodes": listed, "running_nodes": [OTHER]}), "", 0)
        )

    monkeypatch.setattr(cloud_pods, "run", run)
    members = tuple(LivingMember(f"rabbitmq-{each}", counts=each == 1, says="") for each in range(3))
    cloud = replace(living(PLAN), quorums=(LivingQuorum("rabbitmq", "rabbitmq", members, serves=False),))
    node = next(each for each in PLAN.nodes if each.name == "messaging1")
    dead = DeadMachine(node, False, (("rabbitmq", "rabbitmq-0"),), (), (), is_compute=False, has_agents=False)
    found = unsafe(as_listed(cast("Any", None), cloud), dead)
    assert [each[: len(want)] for each, want in zip(found, said, strict=True)] == said
