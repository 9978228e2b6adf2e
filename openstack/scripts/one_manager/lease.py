"""The Lease that a pod must hold to run the command, by the rules of client-go's leader election.

A pod measures times only by its own clock: another pod's Lease has expired if it did not change for its duration since
this pod saw it change. A write names the version that was read, and the API server refuses it if there is a later one.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import socket
import ssl
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone
from http import HTTPStatus
from pathlib import Path
from typing import Any

from .state import now

NAME = "cinder-volume"
ACCOUNT = Path(os.environ.get("LEASE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
DURATION, DEADLINE, PERIOD = map(float, os.environ.get("LEASE_SECONDS", "15 10 2").split())
"""Seconds after which others may take the Lease, after which its holder gives up, and between two attempts. They are
Kubernetes' defaults (--leader-elect-lease-duration, -renew-deadline, -retry-period)."""
REQUEST = min(3.0, DEADLINE / 3)
"""Seconds for an answer. If one of several API servers is down, the next attempt may reach another one."""
NO_ANSWER = (OSError, http.client.HTTPException, ValueError)
"""What is raised if the API server does not answer, refuses, or has a later version of the Lease."""


class Lease:
    """The Lease in the pod's namespace. Methods raise NO_ANSWER."""

    def __init__(self) -> None:
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self.renewed = 0.0
        """When the request began that made or kept this pod the holder. The Lease changed later than that."""
        self.answered = 0.0
        """When the API server last answered."""
        self._until = math.inf
        self._known: dict[str, Any] | None = None
        self._changed = 0.0
        """When this pod saw the Lease change."""

    def take(self, until: float) -> bool:
        """Takes or renews the Lease, until a time. Returns whether this pod holds it; False if another pod does."""
        self._until = until
        started = now()
        current = self._read()
        # A deleted Lease counts as it was: its holder creates it again, and the others wait until it has expired.
        spec: dict[str, Any] = self._known["spec"] if self._known else {}
        if spec.get("holderIdentity") != self.identity:
            if spec.get("holderIdentity") and now() < self._changed + spec.get("leaseDurationSeconds", DURATION):
                return False
            spec = {"acquireTime": _timestamp(), "leaseTransitions": spec.get("leaseTransitions", -1) + 1}
        self._write(current, {**spec, "holderIdentity": self.identity, "leaseDurationSeconds": round(DURATION)})
        self.renewed = started
        return True

    def release(self) -> None:
        """Lets another pod take the Lease at once. Does nothing if this pod does not hold it."""
        self._until = math.inf
        current = self._read()
        if current and current["spec"].get("holderIdentity") == self.identity:
            self._write(current, {**current["spec"], "holderIdentity": "", "leaseDurationSeconds": 1})

    def _read(self) -> dict[str, Any] | None:
        try:
            return self._request("GET", f"/{NAME}")
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            self.answered = now()
            return None

    def _write(self, current: dict[str, Any] | None, spec: dict[str, Any]) -> None:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {**spec, "renewTime": _timestamp()}}
        if current:
            self._request("PUT", f"/{NAME}", {**body, "metadata": current["metadata"]})
        else:
            self._request("POST", "", {**body, "metadata": {"name": NAME}})

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        namespace = (ACCOUNT / "namespace").read_text(encoding="ascii").strip()
        url = f"https://{host}:{port}/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases{path}"
        # Kubelet replaces the token within an hour.
        token = (ACCOUNT / "token").read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers, method=method)
        secure = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")))
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), secure)
        with direct.open(request, timeout=max(0.1, min(REQUEST, self._until - now()))) as answer:
            found: dict[str, Any] = json.load(answer)
        self.answered = now()
        if self._known is None or found["metadata"]["resourceVersion"] != self._known["metadata"]["resourceVersion"]:
            self._known, self._changed = found, self.answered
        return found


def _timestamp() -> str:
    """Returns the time for readers of the Lease; no decision depends on it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: UP017 - some images have Python 3.9
