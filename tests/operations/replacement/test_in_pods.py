"""A member of RabbitMQ is forgotten once, also if the answer is lost, and one that goes on alone lists itself only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from cluster.pod_exec import CommandOutput
from console.errors import UserError
from operations import cloud_pods
from operations.cloud_pods import PodAnswer
from operations.live_cluster import LiveCluster
from operations.replacement.in_pods import forget_broker

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
