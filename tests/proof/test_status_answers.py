"""What `quorate status` reads of a real API server: the time of a node's answer, and when a CronJob last succeeded."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from cluster import unready
from cluster.api import MERGE
from cluster.objects import holds
from contract import ACTION
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.action_job import BATCH
from operations.living import backups, node_stats
from operations.living.backups import LivingBackup
from operations.living.node_stats import FullDisk
from proof.control_plane import ControlPlane, control_plane
from tests.proof.simulated_nodes import node_object, until
from tests.stacks import full_size, parsed

AHEAD = {"node-a": 0.0, "node-b": 0.0, "node-c": 40.0}
"""Seconds by which the clocks of nodes are ahead."""


@pytest.fixture(scope="module")
def plane(binaries: Path) -> Generator[ControlPlane]:
    with control_plane(binaries) as running:
        yield running


@pytest.fixture(scope="module")
def address() -> str:
    """An address of this host that is not of loopback, to which an API server passes no requests on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this host has no route")
        return str(probe.getsockname()[0])


@contextmanager
def kubelet(directory: Path, address: str, ahead: float) -> Generator[int]:
    """Answers as a kubelet does whose clock is ahead, with a disk that is 91 % full. Yields its port."""

    class Summary(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            assert self.path == "/stats/summary"
            disk = {"capacityBytes": 100 * 2**30, "availableBytes": 9 * 2**30}
            said = json.dumps({"node": {"nodeName": "n", "fs": disk}, "pods": []}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def date_time_string(self, timestamp: float | None = None) -> str:
            now = datetime.now(UTC).timestamp() if timestamp is None else timestamp
            return super().date_time_string(now + ahead)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer((address, 0), Summary)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "kubelet.crt", directory / "kubelet.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_api_server_passes_on_the_time_of_the_node(plane: ControlPlane, address: str, tmp_path: Path) -> None:
    files = ["-keyout", tmp_path / "kubelet.key", "-out", tmp_path / "kubelet.crt"]
    command = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "1", "-subj", "/CN=kubelet"]
    subprocess.run([*command, *files], check=True, capture_output=True)
    with (
        kubelet(tmp_path, address, AHEAD["node-a"]) as first,
        kubelet(tmp_path, address, AHEAD["node-b"]) as second,
        kubelet(tmp_path, address, AHEAD["node-c"]) as third,
    ):
        nodes = [_node(plane, name, address, port) for name, port in zip(AHEAD, (first, second, third), strict=True)]
        dead = _node(plane, "node-d", address, 1)
        found = node_stats.read(plane.api, [*nodes, dead])
    assert found.asked == 3
    assert found.full == tuple(FullDisk(name, "kubelet's disk", 91) for name in AHEAD)
    assert found.wrong() == {"node-c": pytest.approx(40, abs=3)}  # a busy host answers late
    assert abs(found.common) < 2
    assert "connection refused" in found.unasked["node-d"]


def _node(plane: ControlPlane, name: str, address: str, port: int) -> dict[str, object]:
    plane.api.ask("POST", "/api/v1/nodes", node_object(name))
    until(lambda: holds(plane.api.ask("GET", f"/api/v1/nodes/{name}"), "Ready"))  # KWOK has written its status
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    return plane.api.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=MERGE)


def test_the_scheduler_says_why_a_pod_has_no_node(plane: ControlPlane) -> None:
    path, selector = "/api/v1/namespaces/default/pods", {"quorate.io/nowhere": "true"}
    pod = {"nodeSelector": selector, "containers": [{"name": "a", "image": "a"}]}
    until(lambda: plane.api.call("GET", "/api/v1/namespaces/default").status == 200)
    plane.api.ask("POST", path, {"metadata": {"name": "waits"}, "spec": pod})

    def why() -> str:
        return unready.why(plane.api.ask("GET", f"{path}/waits"))

    until(lambda: why().startswith("Unschedulable: "))
    assert "nodes are available" in why()
    assert "preemption" not in why()
    assert unready.since(plane.api.ask("GET", f"{path}/waits"))


def test_the_controller_records_the_last_success_of_a_schedule(plane: ControlPlane) -> None:
    """A Job without completions is complete at once, also without a node."""
    around = wiring(plan(parsed(full_size("100"))), ENVIRONMENT)

    def found() -> LivingBackup:
        (only,) = backups.of_galera(plane.api, around).found
        return only

    plane.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": ENVIRONMENT}})
    assert found().stopped == "the cluster does not have it"
    pod = {"restartPolicy": "Never", "containers": [{"name": "backup", "image": "backup"}]}
    job = {"completions": 0, "template": {"spec": pod}}
    schedule = plane.api.ask(
        "POST",
        f"{BATCH}/cronjobs",
        {"metadata": {"name": "mysqld-backup"}, "spec": {"schedule": "17 2 * * *", "jobTemplate": {"spec": job}}},
    )
    until(lambda: not found().stopped)  # lists are those of the API server's cache
    due, now = found(), datetime.now(UTC)
    assert (due.newest, due.stopped, due.is_late(now)) == (None, "", False)
    assert due.is_late(now + due.limit + timedelta(minutes=1))

    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "controller": True}
    owner |= {"name": "mysqld-backup", "uid": schedule["metadata"]["uid"]}
    made = {"metadata": {"name": "mysqld-backup-1", "ownerReferences": [owner]}, "spec": job}
    plane.api.ask("POST", f"{BATCH}/jobs", made)
    until(lambda: found().newest is not None)
    scheduled = found().newest
    assert scheduled
    assert abs(datetime.now(UTC) - scheduled) < timedelta(minutes=2)

    plane.api.ask("DELETE", f"{BATCH}/jobs/mysqld-backup-1", {"propagationPolicy": "Background"})
    assert found().newest == scheduled
    time.sleep(1.1)  # completion times have no fractions of seconds
    by_hand = {"metadata": {"generateName": "by-hand-", "annotations": {ACTION: "mysqld-backup"}}, "spec": job}
    plane.api.ask("POST", f"{BATCH}/jobs", by_hand)
    until(lambda: (found().newest or scheduled) > scheduled)
    plane.api.ask("PATCH", f"{BATCH}/cronjobs/mysqld-backup", {"spec": {"suspend": True}}, content=MERGE)
    until(lambda: found().stopped == "it is suspended")
