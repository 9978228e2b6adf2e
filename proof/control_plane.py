"""A Kubernetes control plane on loopback: etcd, API server, controller manager, scheduler, and KWOK for kubelets.

The programs run with their default settings; a comment gives the reason for each exception. All data is in one
temporary directory. etcd listens on Unix sockets in this directory, so that only the API server needs a port. kubeadm
creates the certificates. Several control planes can run at the same time.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.api import Api, Unreachable
from cluster.kubeconfig import read_kubeconfig
from console.errors import UserError
from proof.processes import Processes
from proof.scratch import scratch

STAGES = Path(__file__).parent / "stages"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm", "kwok")
READY_WITHIN = 90
ATTEMPTS = 3
"""Number of attempts to start the control plane, each with a new port. Another program may take the chosen port before
the API server binds it."""

NOT_LOOPBACK = "192.0.2.1"
"""An unused address of the documentation range, for settings in which kubeadm and the API server reject a loopback
address."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane, with access to its API server."""

    api: Api
    kubeconfig: Path
    processes: Processes

    def check(self) -> None:
        """Raises UserError if a program of the control plane has exited."""
        ended = self.processes.ended
        if ended:
            raise UserError(f"{ended.name} exited while it was needed; the end of its log:\n{ended.log_tail()}")


@contextmanager
def control_plane(
    binaries: Path, *, services: str = "10.96.0.0/12", version: str = "v1.37.2"
) -> Generator[ControlPlane]:
    """Runs a control plane until the context ends.

    The thread that enters the context must run until then (processes.py).

    `binaries`: directory with the programs. `services`: network of the cluster's Services.
    """
    missing = [name for name in PROGRAMS if not (binaries / name).exists()]
    if missing:
        raise UserError(f"{', '.join(missing)} not found in {binaries}")
    with scratch() as directory:
        for attempt in range(1, ATTEMPTS + 1):
            place = directory / str(attempt)
            place.mkdir()
            processes = Processes(place)
            try:
                yield _started(binaries, place, processes, services, version)
                return
            except _PortTaken:
                if attempt == ATTEMPTS:
                    raise UserError("There is no free port for the API server.") from None
            finally:
                processes.stop()


class _PortTaken(Exception):
    """Another program uses the port that was chosen for the API server."""


def _started(binaries: Path, place: Path, processes: Processes, services: str, version: str) -> ControlPlane:
    port = _free_port()
    _certificates(binaries / "kubeadm", place, port, services, version)
    processes.start("etcd", [binaries / "etcd", *_ETCD])
    processes.start("kube-apiserver", [binaries / "kube-apiserver", *_api_server(port, services)])
    kubeconfig = place / "super-admin.conf"
    api = Api(read_kubeconfig(kubeconfig))
    plane = ControlPlane(api, kubeconfig, processes)
    _await_ready(plane)
    (place / "scheduler.json").write_text(json.dumps(_SCHEDULER), encoding="utf-8")
    processes.start("kube-controller-manager", [binaries / "kube-controller-manager", *_CONTROLLER_MANAGER])
    processes.start("kube-scheduler", [binaries / "kube-scheduler", *_KUBE_SCHEDULER])
    processes.start("kwok", [binaries / "kwok", *_KWOK, *(f"--config={path}" for path in sorted(STAGES.glob("*")))])
    return plane


_ETCD = (
    "--name=proof",
    "--data-dir=data",
    # Names of Unix sockets in the working directory. etcd requires a "port" at the end of each name.
    "--listen-client-urls=unix://client:1",
    "--advertise-client-urls=unix://client:1",
    "--listen-peer-urls=unix://peer:1",
    "--initial-advertise-peer-urls=unix://peer:1",
    "--initial-cluster=proof=unix://peer:1",
    "--unsafe-no-fsync",  # the data is temporary
    "--log-level=error",
)
_KUBE_SCHEDULER = (
    "--config=scheduler.json",
    "--secure-port=0",
    # A pod whose event the scheduler missed is tried again after this time, by default 5 min. The simulated cluster is
    # given up after 60 s without a change.
    "--pod-max-in-unschedulable-pods-duration=15s",
)
_CONTROLLER_MANAGER = (
    "--kubeconfig=controller-manager.conf",
    "--leader-elect=false",
    "--secure-port=0",
    "--service-account-private-key-file=pki/sa.key",
    "--root-ca-file=pki/ca.crt",
    "--use-service-account-credentials=true",
    "--node-monitor-period=1s",  # a thousand failures with the default of 5 s would take too long
    # A late heartbeat of a simulated kubelet on a busy machine must not fail its node: only trials fail nodes.
    "--node-monitor-grace-period=3600s",
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
    # Without the ttl controller, which annotates every node when the number of nodes passes 100 or 1000.
    "--controllers=*,bootstrap-signer-controller,token-cleaner-controller,-ttl-controller",
)
_SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"kubeconfig": "scheduler.conf", "qps": 1000, "burst": 2000},
}
"""Configuration of the scheduler. Profiles and plugins are the defaults, as in a production cluster."""
_KWOK = (
    "--kubeconfig=super-admin.conf",
    "--manage-all-nodes=true",
    # No leases: KWOK would manage a re-registered node only after renewing the lease of the deleted node.
    "--node-lease-duration-seconds=0",
    "--cidr=10.0.0.0/8",
)


def _api_server(port: int, services: str) -> Sequence[str]:
    return (
        "--etcd-servers=unix://client:1",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--advertise-address={NOT_LOOPBACK}",
        "--endpoint-reconciler-type=none",
        "--tls-cert-file=pki/apiserver.crt",
        "--tls-private-key-file=pki/apiserver.key",
        "--client-ca-file=pki/ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=pki/sa.pub",
        "--service-account-signing-key-file=pki/sa.key",
        f"--service-cluster-ip-range={services}",
        "--allow-privileged=true",  # kubeadm's default; agents of nodes need it
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",  # kubeadm's default
        "--event-ttl=5m",
    )


def _certificates(kubeadm: Path, place: Path, port: int, services: str, version: str) -> None:
    """Creates keys, certificates and kubeconfigs with phases of kubeadm."""
    init = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": NOT_LOOPBACK, "bindPort": port},
        "nodeRegistration": {"name": "proof", "criSocket": "unix:///nowhere"},
    }
    cluster = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": version,
        "encryptionAlgorithm": "ECDSA-P256",  # fast to create
        "certificatesDir": str(place / "pki"),
        "controlPlaneEndpoint": f"127.0.0.1:{port}",
        "apiServer": {"certSANs": ["127.0.0.1"]},
        "networking": {"serviceSubnet": services},
    }
    configuration = place / "kubeadm.yaml"
    configuration.write_text("\n---\n".join(json.dumps(each) for each in (init, cluster)), encoding="utf-8")
    phases = [["certs", name] for name in ("ca", "apiserver", "sa")]
    phases += [
        ["kubeconfig", name, "--kubeconfig-dir", str(place)]
        for name in ("super-admin", "controller-manager", "scheduler")
    ]
    for phase in phases:
        command = [kubeadm, "init", "phase", *phase, "--config", configuration]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise UserError(f"kubeadm failed to create {' '.join(phase[:2])}:\n{done.stderr[-1000:]}")
    for name in ("controller-manager.conf", "scheduler.conf"):  # they contain the unused address
        file = place / name
        file.write_text(file.read_text(encoding="utf-8").replace(NOT_LOOPBACK, "127.0.0.1"), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_ready(plane: ControlPlane) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        ended = plane.processes.ended
        if ended and "address already in use" in ended.log.read_text(encoding="utf-8", errors="replace"):
            raise _PortTaken
        plane.check()
        try:
            if plane.api.call("GET", "/readyz").status == 200:
                return
        except Unreachable:
            pass
        time.sleep(0.1)
    raise UserError(f"The API server was not ready within {READY_WITHIN} s.")
