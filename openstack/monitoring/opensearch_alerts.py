"""Alerts for the health of OpenSearch's indices. Its members are a quorum among the others.

The exporter in each member's pod asks that member, which asks the elected manager
(https://docs.opensearch.org/latest/api-reference/cluster-api/cluster-health/).
"""

from __future__ import annotations

from collections.abc import Iterator

from openstack.monitoring.quorums import WatchedQuorum
from openstack.monitoring.rules import Rule, alert

HEALTH = "elasticsearch_cluster_health_status"
"""1 for the `color` that the health has, 0 for the two others."""


def rules(quorum: WatchedQuorum) -> Iterator[Rule]:
    """Yields the alerts for indices without a primary shard, and for replicas without a place."""

    def has(color: str) -> str:
        return f'max({HEALTH}{{job="{quorum.name}", color="{color}"}}) == 1'

    lost = f"{quorum.name}: some indices are not available (red)"
    yield alert("OpensearchRed", has("red"), "15s", "critical", lost, quorum=quorum.name)
    if quorum.size > 1:  # replicas have no place beside a single member
        unplaced = f"{quorum.name}: replicas of some indices have no place (yellow)"
        yield alert("OpensearchYellow", has("yellow"), "30m", "warning", unplaced, quorum=quorum.name)
