"""Commands in pods of the cloud: which pod runs one, and what is said of one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from cluster.api import Unreachable
from cluster.kubeconfig import Access
from cluster.pod_exec import CommandOutput, PodContainer
from console.errors import UserError
from operations import cloud_pods
from operations.live_cluster import LiveCluster
from operations.maintenance import pod_commands
from operations.replacement import in_pods
from tests.operations.maintenance.small_cloud import PLAN


class ThreePods:
    """An API server with three pods of every process; `answers` are the outputs in the pods that are ready."""

    access = cast("Access", None)

    def __init__(self, **answers: CommandOutput | Exception) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def ask(self, _method: str, _path: str, *, query: dict[str, str]) -> dict[str, Any]:
        assert query
        return {"items": [self._pod(name) for name in ("a", "b", "c")]}

    def _pod(self, name: str) -> dict[str, Any]:
        ready = {"type": "Ready", "status": str(name in self.answers)}
        return {"metadata": {"name": name}, "status": {"conditions": [ready]}}

    def run_in_pod(
        self, _access: Access, place: PodContainer, _command: Sequence[str], _seconds: float
    ) -> CommandOutput:
        self.asked.append(place.pod)
        answer = self.answers[place.pod]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def cluster(self, monkeypatch: pytest.MonkeyPatch) -> LiveCluster:
        monkeypatch.setattr(cloud_pods, "run_in_pod", self.run_in_pod)
        return LiveCluster(cast("Any", self), PLAN, "cloud", ())


def output(code: int | None, text: str = "", errors: str = "") -> CommandOutput:
    return CommandOutput(text, errors, code)


def test_the_first_ready_pod_that_can_be_reached_runs_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that did not end in time is not an answer either."""
    pods = ThreePods(a=Unreachable("no route"), b=output(None), c=output(0, "done"))
    found = cloud_pods.run(pods.cluster(monkeypatch), "ceph-mon", "ceph-mon", ["true"])
    assert (found.pod, found.output.text, found.failed, pods.asked) == ("c", "done", False, ["a", "b", "c"])


def test_a_command_that_fails_is_not_tried_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = ThreePods(b=output(2, "text", "errors\n"), c=output(0))
    found = cloud_pods.run(pods.cluster(monkeypatch), "ceph-mon", "ceph-mon", ["true"])
    assert (found.pod, found.failed, found.said, pods.asked) == ("b", True, "errors", ["b"])


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({}, "none of its pods is ready"),
        ({"a": Unreachable("no route")}, "a: no route"),
        ({"c": output(None)}, "c did not answer within 90 s"),
    ],
)
def test_a_process_that_no_pod_answers_for_is_named(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, CommandOutput | Exception], problem: str
) -> None:
    with pytest.raises(UserError, match=f"ceph-mon was not asked: {problem}"):
        cloud_pods.run(ThreePods(**answers).cluster(monkeypatch), "ceph-mon", "ceph-mon", ["true"])


def test_a_refusal_is_named_by_both_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ThreePods(b=output(1, "", "EBUSY")).cluster(monkeypatch)
    with pytest.raises(UserError, match="ceph-mon refused, in pod b: EBUSY"):
        pod_commands.keep_in(cluster, "storage1")
    with pytest.raises(UserError, match=r"ceph-mon refused `timeout 30 ceph .*`: EBUSY"):
        in_pods.put_out(cluster, ["1"])


def test_an_answer_that_is_no_object_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("[]", "not JSON"):
        with pytest.raises(UserError, match="is no JSON object"):
            pod_commands.ask_nova(ThreePods(a=output(0, text)).cluster(monkeypatch), "show", "cmp1")
