"""A local cache of the cluster's objects, kept up to date by watches. Threads can wait for a condition on the cache.

Events wake the waiting thread, so a wait takes little CPU while nothing changes. Observers receive every change of a
pod in order; the rollout trial uses one to count the members that are down at the same time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from cluster.api import Api, ApiError, Unreachable, Watch
from cluster.objects import Object

PATHS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "deployments": "/apis/apps/v1/deployments",
    "statefulsets": "/apis/apps/v1/statefulsets",
    "daemonsets": "/apis/apps/v1/daemonsets",
    "jobs": "/apis/batch/v1/jobs",
    "budgets": "/apis/policy/v1/poddisruptionbudgets",
    "claims": "/api/v1/persistentvolumeclaims",
}
WORKLOADS = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}

Key = tuple[str, str]
"""Namespace and name of an object; the namespace is empty for a cluster-scoped object."""
Observer = Callable[[str, Object], None]
"""Function that is called with each event of a pod: ADDED, MODIFIED or DELETED, and the pod."""

SILENCE = 12.0
"""Seconds without a change after which the scheduler has retried every pending pod: its longest backoff is 10 s."""
LONG = 5.0
"""Seconds without a change of an object after which KWOK or a controller may have missed the object's last change."""
PAUSE = 0.02
"""Seconds between two evaluations of a condition, so that a burst of events costs one evaluation."""


class ObjectCache:
    """A cache of a cluster's objects. Hold `lock` to read several objects consistently."""

    def __init__(self, api: Api, check: Callable[[], None] = lambda: None) -> None:
        self.api = api
        self._check = check
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._kinds: dict[str, dict[Key, Object]] = {}
        self._changed_times: dict[tuple[str, Key], float] = {}
        self._closing = threading.Event()
        self._watches: dict[str, Watch] = {}
        self._observers: list[Observer] = []
        self.changed_at = time.monotonic()

    def all(self, kind: str) -> list[Object]:
        """Returns the objects of a kind, such as pods (a key of PATHS), in no order."""
        with self.lock:
            return list(self._kinds[kind].values())

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Returns the object with a name, or None if the cache does not contain it."""
        with self.lock:
            return self._kinds[kind].get((namespace, name))

    def unchanged(self, kind: str) -> list[Object]:
        """Returns the objects of a kind that have not changed for `LONG`."""
        with self.lock:
            now = time.monotonic()
            return [item for key, item in self._kinds[kind].items() if now - self._changed_times[kind, key] >= LONG]

    def wait(
        self,
        done: Callable[[], bool],
        timeout: float,
        *,
        quiet: float = math.inf,
        give_up: Callable[[], bool] = lambda: False,
        nudge: Callable[[], None] = lambda: None,
    ) -> bool:
        """Waits until `done` returns true. Returns False after `timeout`, or after `quiet` seconds without a change.

        If `give_up` returns true, `SILENCE` seconds without a change are enough to return False. `nudge` is called
        every `LONG` seconds, even while objects change: in a large cluster some objects change all the time, which
        would hide that an event of another object was missed.
        """
        started = nudged = time.monotonic()
        with self._changed:
            while not done():
                now = time.monotonic()
                silence = now - max(self.changed_at, started)
                if now - started >= timeout or silence >= quiet or (silence >= SILENCE and give_up()):
                    return False
                self._changed.wait(0.5)
                self._changed.release()
                try:
                    self._check()
                    if now - nudged >= LONG:
                        nudged = now
                        nudge()
                    time.sleep(PAUSE)
                finally:
                    self._changed.acquire()
        return True

    @contextmanager
    def observed(self, observer: Observer) -> Generator[None]:
        """Calls an observer with each event of a pod until the context ends."""
        with self.lock:
            self._observers.append(observer)
        try:
            yield
        finally:
            with self.lock:
                self._observers.remove(observer)

    def start(self) -> None:
        """Lists all objects, then watches them in the background."""
        for kind, path in PATHS.items():
            version = self._list(kind, path)
            follower = threading.Thread(target=self._follow, args=(kind, path, version), name=kind, daemon=True)
            follower.start()

    def close(self) -> None:
        """Ends the watches, so that the cache is no longer updated."""
        self._closing.set()
        with self.lock:
            for watch in self._watches.values():
                watch.close()

    def _list(self, kind: str, path: str) -> str:
        items, version = self.api.items(path)
        with self._changed:
            self._kinds[kind] = {_key(item): item for item in items}
            self._touch()
            self._changed_times.update({(kind, key): self.changed_at for key in self._kinds[kind]})
        return version

    def _follow(self, kind: str, path: str, version: str) -> None:
        while not self._closing.is_set():
            try:
                watch = self.api.watch(path, version)
                with self.lock:
                    self._watches[kind] = watch
                for event, item in watch:
                    if event == "ERROR":
                        version = self._list(kind, path)  # the version is too old
                        break
                    version = item["metadata"]["resourceVersion"]
                    if event != "BOOKMARK":
                        self._update(kind, event, item)
            except (Unreachable, ApiError):
                self._closing.wait(0.5)

    def _update(self, kind: str, event: str, item: Object) -> None:
        with self._changed:
            self._touch()
            key = _key(item)
            if event == "DELETED":
                self._kinds[kind].pop(key, None)
                self._changed_times.pop((kind, key), None)
            else:
                self._kinds[kind][key] = item
                self._changed_times[kind, key] = self.changed_at
            if kind == "pods":
                for observer in self._observers:
                    observer(event, item)

    def _touch(self) -> None:
        self.changed_at = time.monotonic()
        self._changed.notify_all()


@contextmanager
def object_cache(api: Api, check: Callable[[], None] = lambda: None) -> Generator[ObjectCache]:
    """Runs a cache until the context ends. Each wait calls `check`, which raises if the control plane has failed."""
    cache = ObjectCache(api, check)
    cache.start()
    try:
        yield cache
    finally:
        cache.close()


def _key(item: Object) -> Key:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
