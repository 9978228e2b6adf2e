"""The simulated cluster is ready only if its pods are, whatever the status of their workloads says."""

from __future__ import annotations

from typing import Any, cast

from cluster.api import Api
from cluster.cache import ObjectCache
from cluster.objects import Object
from proof.control_plane import ControlPlane
from proof.expected import ExpectedState
from proof.simulation import Rendered, SimulatedCluster

COUNTS = dict.fromkeys(("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady"), 1)


class Listed(ObjectCache):
    """A cache with these objects, and nothing that watches."""

    def __init__(self, **kinds: list[Object]) -> None:
        super().__init__(cast("Api", None))
        self.kinds = kinds

    def all(self, kind: str) -> list[Object]:
        return self.kinds.get(kind, [])


def pod(ready: bool, **metadata: Any) -> Object:
    """A pod of a DaemonSet that accompanies no row, on a node."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    owner = [{"kind": "DaemonSet", "name": "node-exporter", "controller": True}]
    named = {"name": "node-exporter-x892w", "uid": "1", "ownerReferences": owner, **metadata}
    return {"metadata": named, "spec": {"nodeName": "stor3"}, "status": {"conditions": conditions, "phase": "Running"}}


def is_ready(*pods: Object) -> bool:
    """Whether a cluster is ready whose DaemonSet counts one pod, ready."""
    daemonset = {"metadata": {"name": "node-exporter", "namespace": "monitoring"}, "status": COUNTS}
    state = ExpectedState(cast("Any", None), (), {}, {})
    cache = Listed(daemonsets=[daemonset], pods=list(pods))
    return SimulatedCluster(state, Rendered((), ()), cast("ControlPlane", None), cache).is_ready()


def test_a_pod_counts_before_the_status_of_its_workload() -> None:
    assert is_ready(pod(ready=True))
    assert not is_ready(pod(ready=False))


def test_a_pod_that_ends_is_not_waited_for() -> None:
    assert is_ready(pod(ready=True), pod(ready=False, deletionTimestamp="2026-01-01T00:00:00Z"))
