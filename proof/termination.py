"""Deletes terminating pods of a simulated cluster by UID, as a kubelet does.

KWOK, which simulates the kubelets, deletes a pod by name and may do so twice on a busy machine. In a StatefulSet, the
second deletion removes the replacement pod, which has the same name, so that a rollout would have two members down at
once. With a kubelet this cannot happen. Therefore this module deletes the pods instead of KWOK.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from cluster.api import Api, ApiError, Unreachable
from cluster.cache import ObjectCache
from cluster.objects import Object
from proof.cluster import RunningPod, pod_of

WORKERS = 8


@contextmanager
def terminate_pods(api: Api, cache: ObjectCache) -> Generator[None]:
    """Deletes terminating pods that have a node, until the context ends."""
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="terminate")

    def observe(event: str, item: Object) -> None:
        pod = pod_of(item)
        if event != "DELETED" and pod.ending and pod.node:
            pool.submit(_delete, api, pod)

    try:
        with cache.observed(observe):
            yield
    finally:
        pool.shutdown(cancel_futures=True)


def _delete(api: Api, pod: RunningPod) -> None:
    """Deletes the pod by UID; a pod that is already gone is ignored."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    with suppress(ApiError, Unreachable):
        api.ask("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})
