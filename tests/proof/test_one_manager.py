"""The pods of cinder-volume take turns by a Lease of a real API server: never do two of their commands run at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from cluster.api import Api, ApiError
from cluster.kubeconfig import Access
from proof.control_plane import ControlPlane, control_plane
from tests.reports.stacks import named, objects, planned
from tests.stacks import ROOT

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
SECONDS = "8 5 0.5"
"""Duration, deadline and period of the Lease, shorter than the defaults in about the same proportion."""
PATIENCE = 90
COMMAND = """
me=$POD-$$
(trap '' TERM; while :; do echo "$me on" >>"$LOG"; sleep 0.05; done) &
worker=$!
trap 'kill -9 $worker; echo "$me end" >>"$LOG"; exit 0' TERM
trap 'exit 7' USR1
echo "$me start" >>"$LOG"
wait
"""
"""A command with a worker, as cinder-volume has one for each backend. The worker does not end by itself."""


@pytest.fixture(scope="module")
def plane(binaries: Path) -> Generator[ControlPlane]:
    with control_plane(binaries) as running:
        yield running


@pytest.fixture(scope="module")
def rights() -> list[dict[str, Any]]:
    """Account, role and binding of the rendered stack."""
    made = objects(planned())
    return [named(made, kind, "cinder-volume") for kind in ("ServiceAccount", "Role", "RoleBinding")]


class Relay:
    """Forwards the connections of one pod to the API server, unless it is cut: then nothing answers."""

    def __init__(self, target: int) -> None:
        self.is_cut = False
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        held: list[socket.socket] = []
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if self.is_cut:
                    held.append(client)
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while (read := one.recv(1 << 16)) and not self.is_cut:
                other.sendall(read)
            other.shutdown(socket.SHUT_WR)


@dataclass
class Pod:
    """One instance of the program, with the processes below it."""

    name: str
    relay: Relay
    process: subprocess.Popen[bytes]

    @property
    def below(self) -> list[int]:
        """The guard and all processes of the command."""
        return list(_descendants(self.process.pid))

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@dataclass
class Pods:
    """Instances in a namespace of their own, and what their commands have written."""

    plane: ControlPlane
    namespace: str
    directory: Path
    pods: list[Pod] = field(default_factory=list[Pod])

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def add(self, command: str = COMMAND) -> Pod:
        name = f"pod{len(self.pods)}"
        place = self.directory / name
        place.mkdir()
        relay = Relay(self.plane.api.access.port)
        environment = os.environ | {
            "LEASE_ACCOUNT": str(self.directory / "account"),
            "LEASE_SECONDS": SECONDS,
            "CINDER_CONFIGURATION": str(self.directory / "cinder.conf"),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(relay.port),
            "TMPDIR": str(place),
            "PYTHONPATH": str(ROOT / "openstack/scripts"),
            "POD": name,
            "LOG": str(self.log),
        }
        with (place / "stderr").open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "one_manager", "run", "sh", "-c", command],
                env=environment,
                cwd=place,
                stderr=said,
                start_new_session=True,
            )
        pod = Pod(name, relay, process)
        self.pods.append(pod)
        return pod

    def lines(self) -> list[str]:
        return self.log.read_text(encoding="ascii").splitlines() if self.log.exists() else []

    def runs(self) -> list[str]:
        """The commands in the order in which they wrote, each as often as it wrote after another one."""
        found: list[str] = []
        for line in self.lines():
            if not found or found[-1] != line.split()[0]:
                found.append(line.split()[0])
        return found

    def one_at_a_time(self) -> None:
        runs = self.runs()
        assert len(runs) == len(set(runs)), f"two commands ran at once: {runs}\n{self.said()}"

    def active(self) -> Pod:
        """The pod whose command wrote last."""
        name = self.runs()[-1].partition("-")[0]
        return next(each for each in self.pods if each.name == name)

    def await_writes(self, *, besides: int = 0) -> Pod:
        """Waits until a command writes that is not among the first `besides`, and returns its pod."""
        self.until("a command writes", lambda: len(self.runs()) > besides)
        seen = len(self.lines())
        self.until("it goes on", lambda: len(self.lines()) > seen + 5)
        return self.active()

    def until(self, what: str, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"not within {PATIENCE} s: {what}\n{self.runs()}\n{self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        texts = {pod.name: (self.directory / pod.name / "stderr").read_text(encoding="utf-8") for pod in self.pods}
        return "\n".join(f"{name}: {line}" for name, text in texts.items() for line in text.splitlines())

    def lease(self) -> dict[str, Any]:
        return self.plane.api.ask("GET", f"{LEASES.format(self.namespace)}/cinder-volume")["spec"]

    def end(self) -> None:
        for pod in self.pods:
            for number in [pod.process.pid, *pod.below]:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            pod.process.wait()
            pod.relay.close()


@pytest.fixture
def pods(
    plane: ControlPlane, rights: list[dict[str, Any]], tmp_path: Path, request: pytest.FixtureRequest
) -> Generator[Pods]:
    """Two pods in the namespace of the test, with the rights of the rendered stack; one of them runs its command."""
    namespace = request.node.name.replace("_", "-").removeprefix("test-")[:60].rstrip("-")
    token = _account(plane.api, namespace, rights)
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text(token, encoding="ascii")
    (account / "namespace").write_text(namespace, encoding="ascii")
    shutil.copy(plane.kubeconfig.parent / "pki/ca.crt", account)
    (tmp_path / "cinder.conf").write_text("[DEFAULT]\nenabled_backends = a\n[a]\nbackend_host = a\n", encoding="ascii")
    found = Pods(plane, namespace, tmp_path)
    try:
        found.add()
        found.add()
        found.await_writes()
        yield found
        found.one_at_a_time()
    finally:
        found.end()


def _account(api: Api, namespace: str, rights: list[dict[str, Any]]) -> str:
    """Creates a namespace with the rendered rights. Returns a token of the account."""
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    core, roles = f"/api/v1/namespaces/{namespace}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    paths = {
        "ServiceAccount": f"{core}/serviceaccounts",
        "Role": f"{roles}/roles",
        "RoleBinding": f"{roles}/rolebindings",
    }
    for each in rights:
        moved: dict[str, Any] = {**each, "metadata": {"name": each["metadata"]["name"]}}
        if "subjects" in moved:
            moved["subjects"] = [{**moved["subjects"][0], "namespace": namespace}]
        api.ask("POST", paths[each["kind"]], moved)
    asked: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return api.ask("POST", f"{paths['ServiceAccount']}/cinder-volume/token", asked)["status"]["token"]


def _descendants(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(child)
            yield from _descendants(int(child))


def _runs(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextmanager
def stopped(*processes: int) -> Generator[None]:
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_roll_hands_over_at_once(pods: Pods) -> None:
    """Each pod ends its command before it releases the Lease, so the next one need not wait until it has expired."""
    pods.add()
    for number in range(1, 4):
        old = pods.active()
        holder = pods.lease()["holderIdentity"]
        old.send(signal.SIGTERM)
        assert old.process.wait(PATIENCE) == 0
        assert pods.lease()["holderIdentity"] != holder
        pods.add()
        pods.await_writes(besides=number)
    assert [line.split()[1] for line in pods.lines() if not line.endswith("on")] == ["start", "end"] * 3 + ["start"]
    assert pods.lease()["leaseTransitions"] == 3


def test_a_killed_holder_takes_its_command_with_it(pods: Pods) -> None:
    old = pods.active()
    processes = old.below
    assert len(processes) >= 3  # guard, command, worker
    old.send(signal.SIGKILL)
    old.process.wait()
    pods.until("its processes end", lambda: not any(map(_runs, processes)))
    assert pods.await_writes(besides=1) is not old


def test_a_stopped_holder_loses_its_command_before_another_takes_over(pods: Pods) -> None:
    old = pods.active()
    processes = old.below
    with stopped(old.process.pid):
        assert pods.await_writes(besides=1) is not old
        assert not any(map(_runs, processes))
    pods.until("it waits again", lambda: f"{old.name}: one manager: waits" in pods.said())
    assert old.process.poll() is None


def test_the_guard_kills_what_was_stopped_with_it(pods: Pods) -> None:
    """As when a machine stands still. Here the guard goes on first; else the command runs until the guard does."""
    old = pods.active()
    guard, *others = old.below
    with stopped(old.process.pid), stopped(*others):
        with stopped(guard):
            assert pods.await_writes(besides=1) is not old
        pods.until("the guard kills", lambda: not any(map(_runs, others)))
    pods.until("it waits again", lambda: f"{old.name}: one manager: waits" in pods.said())


def test_a_holder_that_does_not_reach_the_api_server_ends_its_command_first(pods: Pods) -> None:
    old = pods.active()
    old.relay.is_cut = True
    assert pods.await_writes(besides=1) is not old
    assert any(line.startswith(old.name) and line.endswith("end") for line in pods.lines())
    old.relay.is_cut = False
    pods.until("it waits again", lambda: f"{old.name}: one manager: waits" in pods.said())


def test_without_an_api_server_no_command_runs(pods: Pods) -> None:
    """Nobody can take the Lease, but none of the pods can know that."""
    below = pods.active().below
    for pod in pods.pods:
        pod.relay.is_cut = True
    pods.until("no command runs", lambda: not any(map(_runs, below)))
    for pod in pods.pods:
        pod.relay.is_cut = False
    pods.await_writes(besides=1)


def test_without_its_guard_a_command_ends(pods: Pods) -> None:
    old = pods.active()
    guard, *others = old.below
    os.kill(guard, signal.SIGKILL)
    assert old.process.wait(PATIENCE) == 128 + signal.SIGKILL
    assert not any(map(_runs, others))
    pods.await_writes(besides=1)


def test_a_command_that_ends_takes_its_workers_with_it(pods: Pods) -> None:
    """The worker outlives the command, and would write beside the next pod's."""
    old = pods.active()
    os.kill(int(pods.runs()[-1].partition("-")[2]), signal.SIGUSR1)
    assert old.process.wait(PATIENCE) == 7
    pods.await_writes(besides=1)
    assert pods.lease()["leaseTransitions"] == 1


def test_a_deleted_lease_stays_with_its_holder(pods: Pods) -> None:
    old = pods.active()
    pods.until("the other one waits", lambda: "waits: another pod" in pods.said())
    path = f"{LEASES.format(pods.namespace)}/cinder-volume"
    pods.plane.api.ask("DELETE", path)
    pods.until("there is a Lease again", lambda: pods.plane.api.call("GET", path).status == HTTPStatus.OK)
    holder = pods.lease()["holderIdentity"]
    pods.until("it is renewed", lambda: pods.lease()["renewTime"] != pods.lease()["acquireTime"])
    assert pods.lease()["holderIdentity"] == holder
    assert pods.active() is old


def test_a_lease_that_another_one_got_is_given_up(pods: Pods) -> None:
    """By somebody who edits it: the command ends at the next attempt to renew it."""
    old = pods.active()
    path = f"{LEASES.format(pods.namespace)}/cinder-volume"
    below = old.below
    lease = pods.plane.api.ask("GET", path)
    while True:
        lease["spec"] |= {"holderIdentity": "somebody"}
        try:
            pods.plane.api.ask("PUT", path, lease)
            break
        except ApiError:  # it was renewed meanwhile
            lease = pods.plane.api.ask("GET", path)
    pods.until("the command ends", lambda: not any(map(_runs, below)))
    pods.await_writes(besides=1)


def test_the_rights_are_those_of_one_lease(pods: Pods) -> None:
    account, given = pods.directory / "account", pods.plane.api.access
    headers = {"Authorization": f"Bearer {(account / 'token').read_text(encoding='ascii')}"}
    tls = ssl.create_default_context(cafile=str(account / "ca.crt"))
    own = Api(Access(given.host, given.port, given.prefix, tls, headers))
    leases = LEASES.format(pods.namespace)
    asked = {
        "its Lease": ("GET", f"{leases}/cinder-volume"),
        "another Lease": ("GET", f"{leases}/other"),
        "all Leases": ("GET", leases),
        "end of its Lease": ("DELETE", f"{leases}/cinder-volume"),
        "Lease of another namespace": ("GET", f"{LEASES.format('kube-system')}/cinder-volume"),
        "secrets": ("GET", f"/api/v1/namespaces/{pods.namespace}/secrets"),
        "pods": ("GET", f"/api/v1/namespaces/{pods.namespace}/pods"),
    }
    answers = {what: own.call(method, path).status for what, (method, path) in asked.items()}
    assert answers == {what: 200 if what == "its Lease" else 403 for what in asked}
