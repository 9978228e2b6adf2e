"""Pods that are asked to end do so, as a kubelet lets them: by their UID.

KWOK deletes by name alone, and on a busy machine plays a stage twice. The second time it takes the pod that has come in
the place of the first: in a StatefulSet one of the same name. A rollout then has two members down at once, which no
kubelet would do. So this one thing of a kubelet's is done here.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from proof.api import Api, ApiError, Unreachable
from proof.cache import Live
from proof.cluster import Pod, pod_of
from proof.objects import Object

HANDS = 8


@contextmanager
def endings(api: Api, live: Live) -> Generator[None]:
    """Ends the pods on nodes that have been asked to, for as long as this lasts."""
    pool = ThreadPoolExecutor(HANDS, thread_name_prefix="ending")

    def end(event: str, item: Object) -> None:
        pod = pod_of(item)
        if event != "DELETED" and pod.ending and pod.node:
            pool.submit(_end, api, pod)

    try:
        with live.observed(end):
            yield
    finally:
        pool.shutdown(cancel_futures=True)


def _end(api: Api, pod: Pod) -> None:
    """Takes this very pod away. Somebody else may have done so already."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    with suppress(ApiError, Unreachable):
        api.ask("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})
