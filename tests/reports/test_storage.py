"""Reports about volumes: who manages them."""

from __future__ import annotations

import pytest

from tests.reports.stacks import named, objects, planned, setting


@pytest.mark.xfail(strict=True, reason="not built: docs/not-built.md, one manager for each volume")
def test_a_volume_has_one_manager_at_a_time() -> None:
    """An instance that starts claims the unfinished work of all that share its host name (cinder/manager.py)."""
    made = planned()
    replicas = named(objects(made), "Deployment", "cinder-volume")["spec"]["replicas"]
    host = setting(made, "cinder-volume", "cinder.conf", "ceph", "backend_host")
    cluster = setting(made, "cinder-volume", "cinder.conf", "DEFAULT", "cluster")
    locks = setting(made, "cinder-volume", "cinder.conf", "coordination", "backend_url")
    assert replicas == 1 or (host is None and cluster and locks)
