"""What is in the cluster now: lists kept up to date by watches, and waiting for what one wants to see.

Waiting costs nothing while nothing happens: whoever waits is woken by events. Observers see every change of a pod in
its order, which is how a rollout is watched for a second member that is down.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from proof.api import Api, ApiError, Unreachable, Watch
from proof.objects import Object

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
"""Namespace and name."""
Observer = Callable[[str, Object], None]
"""Is told what happened to a pod: ADDED, MODIFIED or DELETED."""

SILENCE = 12.0
"""Seconds after which the scheduler tries nobody again of its own accord: its longest pause is 10."""
LONG = 5.0
"""Seconds without a change of an object after which somebody may have missed the last one."""
PAUSE = 0.02
"""Between two looks at what one waits for, so that a burst of events is looked at once."""


class Live:
    """A cluster's objects. To be read under `lock` where several must fit together."""

    def __init__(self, api: Api, check: Callable[[], None] = lambda: None) -> None:
        self.api = api
        self._check = check
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._kinds: dict[str, dict[Key, Object]] = {}
        self._heard: dict[tuple[str, Key], float] = {}
        self._closing = threading.Event()
        self._watches: dict[str, Watch] = {}
        self._observers: list[Observer] = []
        self.changed_at = time.monotonic()

    def all(self, kind: str) -> list[Object]:
        """The objects of a kind, in no order."""
        with self.lock:
            return list(self._kinds[kind].values())

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """One object, where it is there."""
        with self.lock:
            return self._kinds[kind].get((namespace, name))

    def unheard(self, kind: str) -> list[Object]:
        """The objects of a kind that have not changed for `LONG`."""
        with self.lock:
            now = time.monotonic()
            return [item for key, item in self._kinds[kind].items() if now - self._heard[kind, key] >= LONG]

    def wait(
        self,
        done: Callable[[], bool],
        timeout: float,
        *,
        quiet: float = math.inf,
        hopeless: Callable[[], bool] = lambda: False,
        nudge: Callable[[], None] = lambda: None,
    ) -> bool:
        """Waits until `done` says so; gives up after `timeout`, or after `quiet` seconds without any change.

        Where it is `hopeless`, a shorter silence is enough. `nudge` is called every `LONG` seconds: in a large cluster
        something changes all the time, and the one pod that was forgotten waits in no silence.
        """
        started = nudged = time.monotonic()
        with self._changed:
            while not done():
                now = time.monotonic()
                silence = now - max(self.changed_at, started)
                if now - started >= timeout or silence >= quiet or (silence >= SILENCE and hopeless()):
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
        """Lets an observer see the changes of pods."""
        with self.lock:
            self._observers.append(observer)
        try:
            yield
        finally:
            with self.lock:
                self._observers.remove(observer)

    def start(self) -> None:
        """Lists everything, then follows it."""
        for kind, path in PATHS.items():
            version = self._list(kind, path)
            follower = threading.Thread(target=self._follow, args=(kind, path, version), name=kind, daemon=True)
            follower.start()

    def close(self) -> None:
        """Ends the watches."""
        self._closing.set()
        with self.lock:
            for watch in self._watches.values():
                watch.close()

    def _list(self, kind: str, path: str) -> str:
        items, version = self.api.items(path)
        with self._changed:
            self._kinds[kind] = {_key(item): item for item in items}
            self._touch()
            self._heard.update({(kind, key): self.changed_at for key in self._kinds[kind]})
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
                        self._take(kind, event, item)
            except (Unreachable, ApiError):
                self._closing.wait(0.5)

    def _take(self, kind: str, event: str, item: Object) -> None:
        with self._changed:
            self._touch()
            key = _key(item)
            if event == "DELETED":
                self._kinds[kind].pop(key, None)
                self._heard.pop((kind, key), None)
            else:
                self._kinds[kind][key] = item
                self._heard[kind, key] = self.changed_at
            if kind == "pods":
                for observer in self._observers:
                    observer(event, item)

    def _touch(self) -> None:
        self.changed_at = time.monotonic()
        self._changed.notify_all()


@contextmanager
def following(api: Api, check: Callable[[], None] = lambda: None) -> Generator[Live]:
    """A cluster's objects, followed for as long as they are needed. `check` raises where waiting has become vain."""
    live = Live(api, check)
    live.start()
    try:
        yield live
    finally:
        live.close()


def _key(item: Object) -> Key:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
