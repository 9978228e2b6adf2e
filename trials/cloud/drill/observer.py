"""Watches a lab from outside until it is stopped: asks APIs, counts members, and writes to Kubernetes.

Runs as a process of its own, in the network in which the lab is reached. Argument: a JSON document with `kubeconfig`,
`urls` (API to URL), `members` (quorum to the URLs of its members' health) and `namespace` (of the pods that are
counted). Prints one JSON object per line, an event: `{"t": seconds since the epoch, "kind": …}` with kind `answer` (of
an API), `members` (ready members of each quorum) or `write` (of a ConfigMap). SIGTERM ends it.
"""

from __future__ import annotations

import http.client
import itertools
import json
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import contract
from cluster.api import Api, ApiError, Unreachable
from cluster.kubeconfig import read_kubeconfig
from cluster.objects import Object, holds, name, text, texts

PERIOD = 1.0
"""Seconds between two requests to an API."""
COUNT_PERIOD = 2.0
"""Seconds between two counts of members. For each an API server encodes all pods, which takes a tenth of a core."""
TIMEOUT = 3.0
"""Seconds after which a request counts as failed."""
NAMESPACE = "quorate-drill"
"""Namespace of the ConfigMaps that are written."""
PREFIX = "write-"
"""Prefix of their names, before a number."""

_ended = threading.Event()
_output = threading.Lock()


def answers(url: str) -> str | None:
    """Returns None if a GET of the URL is answered with a status below 500, and otherwise the reason."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT):  # noqa: S310 - http and https addresses of the lab
            return None
    except urllib.error.HTTPError as error:
        return None if error.code < 500 else f"status {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__


def ready(pods: Iterable[Object]) -> dict[str, list[str]]:
    """Returns the names of the Ready pods by workload, without those that are being deleted."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        if holds(pod, "Ready") and not text(pod, "metadata", "deletionTimestamp"):
            found.setdefault(texts(pod, "metadata", "labels").get(contract.NAME, ""), []).append(name(pod))
    return found


def _report(kind: str, **facts: object) -> None:
    with _output:
        print(json.dumps({"t": time.time(), "kind": kind, **facts}), flush=True)


def _repeat(period: float, act: Callable[[], None]) -> None:
    while not _ended.is_set():
        started = time.monotonic()
        act()
        _ended.wait(max(0.0, period - (time.monotonic() - started)))


def _ask(api: str, url: str) -> None:
    _report("answer", api=api, reason=answers(url))


class Administrator:
    """An administrator, whose kubeconfig may be written again while the observer runs: certificates are replaced."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig, self._lock = kubeconfig, threading.Lock()
        self._written = 0
        self._api: Api | None = None

    def api(self) -> Api:
        """Returns the API, with the credentials that the kubeconfig has now."""
        with self._lock:
            written = self._kubeconfig.stat().st_mtime_ns
            if self._api is None or written != self._written:
                self._api, self._written = Api(read_kubeconfig(self._kubeconfig)), written
            return self._api


def _count(api: Api, document: Mapping[str, Mapping[str, Mapping[str, str]]], namespace: str) -> None:
    found = {
        quorum: [member for member, url in members.items() if answers(url) is None]
        for quorum, members in document["members"].items()
    }
    try:
        pods, _ = api.items(f"/api/v1/namespaces/{namespace}/pods")
    except (Unreachable, ApiError) as error:
        _report("answer", api="kubernetes", reason=str(error))
        _report("members", members=found, complete=False)
    else:
        _report("answer", api="kubernetes", reason=None)
        _report("members", members=found | ready(pods), complete=True)


def _write(api: Api, numbers: itertools.count[int]) -> None:
    number = next(numbers)
    body = {"metadata": {"name": f"{PREFIX}{number}"}}
    try:
        api.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    except (Unreachable, ApiError) as error:
        _report("write", number=number, reason=str(error))
    else:
        _report("write", number=number, reason=None)


def _end(_number: int, _frame: object) -> None:
    _ended.set()


def main() -> None:
    """Watches until SIGTERM."""
    document = json.loads(sys.argv[1])
    administrator = Administrator(Path(document["kubeconfig"]))
    signal.signal(signal.SIGTERM, _end)
    numbers = itertools.count(time.time_ns() // 1_000_000)  # larger than those of earlier drills
    work: list[tuple[float, Callable[[], None]]] = [
        (COUNT_PERIOD, lambda: _count(administrator.api(), document, document["namespace"])),
        (PERIOD, lambda: _write(administrator.api(), numbers)),
    ]
    work += [(PERIOD, lambda name=name, url=url: _ask(name, url)) for name, url in document["urls"].items()]
    threads = [threading.Thread(target=_repeat, args=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
