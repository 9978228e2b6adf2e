"""What the proof reads from a cluster's objects (proof/cluster.py)."""

from __future__ import annotations

import pytest

from proof.cluster import budget_of

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
