"""Why a pod is not ready: one short line for each state that Kubernetes' API gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster import unready
from cluster.objects import Object

IMAGE = "registry.example.org/kolla/glance-api:2026.1"
NO_NODE = (
    "0/9 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match pod anti-affinity rules, "
    "5 node(s) were unschedulable. preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling."
)


def container(state: Object, *, ready: bool = False, **other: Any) -> Object:
    return {"name": "api", "image": IMAGE, "ready": ready, "state": state, **other}


def waits(reason: str, **other: Any) -> Object:
    return container({"waiting": {"reason": reason}}, **other)


def ended(reason: str, code: int) -> Object:
    return {"terminated": {"reason": reason, "exitCode": code}}


def pod(*containers: Object, init: tuple[Object, ...] = (), node: str = "ctl02", **status: Any) -> Object:
    found: Object = {"phase": "Pending", "containerStatuses": list(containers), "initContainerStatuses": list(init)}
    return {"metadata": {"name": "a"}, "spec": {"nodeName": node} if node else {}, "status": found | status}


def condition(kind: str, **other: str) -> Object:
    return {"type": kind, "status": "False", "lastTransitionTime": "2026-11-30T14:00:00Z", **other}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (pod(waits("ImagePullBackOff")), f"ImagePullBackOff of {IMAGE}"),
        (pod(waits("ErrImagePull")), f"ErrImagePull of {IMAGE}"),
        (pod(waits("ContainerCreating")), "ContainerCreating"),
        (pod(container({"waiting": {}})), "waits"),
        (
            pod(waits("CrashLoopBackOff", restartCount=7, lastState=ended("Error", 1))),
            "CrashLoopBackOff (exit code 1, 7 restarts)",
        ),
        (
            pod(waits("CrashLoopBackOff", restartCount=1, lastState=ended("OOMKilled", 137))),
            "CrashLoopBackOff (OOMKilled, exit code 137, 1 restart)",
        ),
        (pod(container(ended("OOMKilled", 137))), "OOMKilled, exit code 137"),
        (pod(container(ended("Completed", 0))), "exit code 0"),
        (pod(container({"running": {}})), "runs, is not ready"),
        (
            pod(container({"running": {}}, restartCount=3, lastState=ended("OOMKilled", 137))),
            "runs, is not ready (OOMKilled, exit code 137, 3 restarts)",
        ),
        (pod(container({"running": {}}, ready=True), waits("ContainerCreating")), "ContainerCreating"),
        (
            pod(
                waits("PodInitializing"),
                init=(container(ended("Completed", 0), ready=True), {**waits("ImagePullBackOff"), "name": "prepare"}),
            ),
            f"init container prepare: ImagePullBackOff of {IMAGE}",
        ),
        (pod(container({"running": {}}, ready=True)), "its containers were ready when its node last told"),
        (pod(), "is Pending"),
        (pod(phase="Failed", reason="Evicted", message="low on memory"), "Evicted: low on memory"),
        (pod(node=""), "has no node"),
        (
            pod(node="", conditions=[condition("PodScheduled", reason="Unschedulable", message=NO_NODE)]),
            "Unschedulable: 0/9 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match pod "
            "anti-affinity rules, 5 node(s) were unschedulable",
        ),
        ({"metadata": {"name": "a", "deletionTimestamp": "2026-11-30T14:00:00Z"}}, "is being deleted"),
        (pod(conditions=[condition("Ready") | {"status": "True"}]), ""),
        ({}, "has no node"),
    ],
)
def test_why(found: Object, said: str) -> None:
    assert unready.why(found) == said


def test_a_long_message_is_cut() -> None:
    conditions = [condition("PodScheduled", reason="Unschedulable", message="x" * 999)]
    assert len(unready.why(pod(node="", conditions=conditions))) < unready.MESSAGE + 20


@pytest.mark.parametrize(
    ("conditions", "hour"),
    [
        ([condition("Ready"), condition("PodScheduled", lastTransitionTime="2026-11-30T13:00:00Z")], 14),
        ([condition("PodScheduled", lastTransitionTime="2026-11-30T13:00:00Z")], 13),
    ],
)
def test_since_when(conditions: list[Object], hour: int) -> None:
    assert unready.since(pod(conditions=conditions)) == datetime(2026, 11, 30, hour, tzinfo=UTC)


def test_a_pod_that_does_not_say_since_when() -> None:
    assert unready.since(pod()) is None
    assert unready.since(pod(conditions=[condition("Ready", lastTransitionTime="yesterday")])) is None
