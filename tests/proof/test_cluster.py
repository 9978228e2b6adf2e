"""What the proof reads from a cluster's objects (proof/cluster.py)."""

from __future__ import annotations

from typing import Any

import pytest

from proof.cluster import budget_of, pod_of

COUNTED = {"expectedPods": 3, "desiredHealthy": 2, "currentHealthy": 3, "disruptionsAllowed": 1}


@pytest.mark.parametrize(
    ("status", "up_to_date"),
    [
        (COUNTED, True),
        # The budget of a single replica allows its eviction.
        ({"expectedPods": 1, "desiredHealthy": 0, "currentHealthy": 1, "disruptionsAllowed": 1}, True),
        ({}, False),
        ({"expectedPods": 0, "desiredHealthy": 0, "currentHealthy": 0, "disruptionsAllowed": 0}, False),
        (COUNTED | {"currentHealthy": 2}, False),
        (COUNTED | {"disruptionsAllowed": 0}, False),
    ],
    ids=["counted", "single", "no-status", "before-its-pods", "one-unhealthy", "an-eviction-pending"],
)
def test_a_budget_is_up_to_date_when_it_counts_its_pods(status: dict[str, int], up_to_date: bool) -> None:
    budget = {"metadata": {"name": "mysqld"}, "status": status}
    assert budget_of(budget).up_to_date is up_to_date


def pod(**condition: str) -> dict[str, Any]:
    """A pod without a node, as the API server answers."""
    conditions = [{"type": "PodScheduled", "status": "False", **condition}] if condition else []
    return {"metadata": {"name": "mysqld-0", "uid": "1"}, "spec": {}, "status": {"conditions": conditions}}


def test_an_error_of_the_scheduler_is_no_refusal() -> None:
    refused = pod_of(pod(reason="Unschedulable", message="0/3 nodes are available"))
    failed = pod_of(pod(reason="SchedulerError", message="binding volumes: timed out"))
    assert (refused.refusal, refused.scheduler_error) == ("0/3 nodes are available", None)
    assert (failed.refusal, failed.scheduler_error) == (None, "binding volumes: timed out")
    assert (pod_of(pod()).refusal, pod_of(pod()).scheduler_error) == (None, None)
