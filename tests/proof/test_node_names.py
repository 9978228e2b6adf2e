"""A node's own DNS server: real CoreDNS with the rendered configuration, and what pods see when servers are gone."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.api import Api
from components.k8s_master import node_dns
from console.progress import Reporter
from contract import NODE_DNS
from proof.control_plane import control_plane
from proof.processes import Processes
from tests.stacks import STACKS
from toolchain import cluster_programs

HEADLESS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
NODE, POD = f"dns-{os.getpid()}-node", f"dns-{os.getpid()}-pod"
"""Network namespaces of a node and of a pod on it."""
SERVICE = "10.96.0.10"
SILENT = "192.0.2.1"
"""A name server of the outside that does not answer: addresses of documentation are routed nowhere."""
NXDOMAIN = 3
"""The code for a name that does not exist (RFC 1035, 4.1.1)."""
RESPONDER = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    query, client = server.recvfrom(4096)
    question = query[12 : query.index(0, 12) + 5]
    record = bytes.fromhex("c00c000100010000001e0004") + socket.inet_aton("10.96.7.7")
    server.sendto(query[:2] + bytes.fromhex("85000001000100000000") + question + record, client)
"""
"""A DNS server that knows one address, in place of CoreDNS's Deployment."""


@pytest.fixture(scope="session")
def coredns() -> Path:
    """CoreDNS: in the directory that QUORATE_NODE points to, or as the set-up of the machine lab builds it."""
    if os.geteuid() != 0:
        pytest.skip("builds the programs of nodes for minutes, which otherwise only root's machine lab needs")
    given = os.environ.get("QUORATE_NODE")
    return (Path(given) if given else cluster_programs.ensure(Reporter(), cluster_programs.NODE)) / "coredns"


def test_the_api_server_accepts_the_objects(binaries: Path) -> None:
    configuration, daemons = node_dns.documents(plan(load_file(STACKS["dev"])))
    with control_plane(binaries) as plane:
        for collection, document in (
            ("/api/v1/{}/configmaps", configuration),
            ("/apis/apps/v1/{}/daemonsets", daemons),
        ):
            path = collection.format("namespaces/kube-system")
            plane.api.ask("POST", f"{path}?fieldValidation=Strict&dryRun=All", document)


def test_names_follow_the_cluster_and_outlive_its_api(binaries: Path, coredns: Path) -> None:
    with control_plane(binaries) as plane:
        _create(plane.api, "database", ["10.244.1.5"])
        port = _free_port()
        text = node_dns.corefile().replace(".:53", f".:{port}").replace(NODE_DNS, "127.0.0.1")
        text = text.replace("/etc/resolv.conf", SILENT)
        for plugin, default in (("health", node_dns.HEALTH), ("ready", node_dns.READY)):
            text = text.replace(f"{plugin} 127.0.0.1:{default}", f"{plugin} 127.0.0.1:{_free_port()}")
        text = text.replace("pods insecure", f"pods insecure\n        kubeconfig {plane.kubeconfig}")
        (plane.processes.directory / "Corefile").write_text(text, encoding="utf-8")
        plane.processes.start("coredns", [coredns, "-conf", "Corefile"])

        _await(port, {"10.244.1.5"}, 20)
        plane.api.ask(
            "PATCH",
            f"{HEADLESS}/database",
            {"endpoints": [{"addresses": ["10.244.2.6"], "conditions": {"ready": True}}]},
            content="application/merge-patch+json",
        )
        _await(port, {"10.244.2.6"}, 2)
        assert _code(port, "gone.database.default.svc.cluster.local") == NXDOMAIN
        # The last name that a resolver tries is the one without the cluster's domain.
        assert _code(port, "gone.database.default.svc") == NXDOMAIN

        server = next(each for each in plane.processes.running if each.name == "kube-apiserver")
        server.child.kill()
        server.child.wait()
        end = time.monotonic() + 6
        while time.monotonic() < end:
            began = time.monotonic()
            assert _addresses(port) == {"10.244.2.6"}
            assert time.monotonic() - began < 1
            time.sleep(0.5)


def test_a_pod_asks_the_service_at_once_when_its_nodes_server_does_not_run(tmp_path: Path, coredns: Path) -> None:
    """The address stays on the machine, so that the kernel refuses; glibc waits 5 s where nothing answers."""
    (tmp_path / "Corefile").write_text(f". {{\n bind {NODE_DNS}\n forward . {SERVICE}\n}}\n", encoding="utf-8")
    if shutil.which("ip") is None or subprocess.run(["ip", "netns", "add", NODE], check=False).returncode:
        pytest.skip("this host cannot make network namespaces")
    with _node_and_pod(), _running(tmp_path) as processes:
        on_node = ["ip", "netns", "exec", NODE]
        processes.start("service", [*on_node, sys.executable, "-c", RESPONDER, SERVICE])
        own = processes.start("node", [*on_node, coredns, "-conf", "Corefile"])
        _await_start()
        assert _seconds() < 1
        os.killpg(own.child.pid, signal.SIGKILL)
        own.child.wait()
        assert _seconds() < 1
        _run(["ip", "-n", NODE, "address", "del", f"{NODE_DNS}/32", "dev", "lo"])
        assert _seconds() > 4


def _create(api: Api, name: str, addresses: Sequence[str]) -> None:
    """Creates a headless Service with one port and the endpoints of its pods."""
    port = {"name": "sql", "port": 3306}
    api.ask(
        "POST",
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": [port]}},
    )
    slice_ = {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [port],
        "endpoints": [{"addresses": list(addresses), "conditions": {"ready": True}}],
    }
    api.ask("POST", HEADLESS, slice_)


def _code(port: int, name: str) -> int:
    """Returns the code of a server's answer. Raises TimeoutError if there is none within a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        client.connect(("127.0.0.1", port))
        client.send(_query(name))
        return client.recv(4096)[3] & 0xF


def _query(name: str) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"


def _await(port: int, expected: set[str], seconds: float) -> None:
    end = time.monotonic() + seconds
    while (found := _addresses(port)) != expected:
        assert time.monotonic() < end, f"{found} after {seconds} s; expected {expected}"
        time.sleep(0.2)


def _addresses(port: int) -> set[str]:
    """Returns the addresses of the Service `database`; none if the server has no answer yet."""
    query = _query("database.default.svc.cluster.local")
    name = query[12:-5]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", port))
        try:
            client.send(query)
            answer = client.recv(4096)
        except OSError:
            return set()
    count = struct.unpack(">H", answer[6:8])[0]
    # Every record of type A that CoreDNS writes without compressing is the name, 10 bytes and the address.
    return {socket.inet_ntoa(part[10:14]) for part in answer[12:].split(name + b"\0")[2:]} if count else set()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def _node_and_pod() -> Generator[None]:
    """Gives the node's namespace the address that the rendered unit adds, and a pod behind a point-to-point link."""
    unit = next(iter(node_dns.parts().plain_files.values()))
    (command,) = (line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart="))
    try:
        _run(["ip", "netns", "add", POD])
        for name in (NODE, POD):
            _run(["ip", "-n", name, "link", "set", "lo", "up"])
        _run(["ip", "netns", "exec", NODE, *shlex.split(command)])
        _run(["ip", "-n", NODE, "address", "add", f"{SERVICE}/32", "dev", "lo"])
        _run(["ip", "-n", NODE, "link", "add", "pod", "type", "veth", "peer", "name", "eth0", "netns", POD])
        for name, device, address in ((NODE, "pod", "10.244.0.1/24"), (POD, "eth0", "10.244.0.2/24")):
            _run(["ip", "-n", name, "address", "add", address, "dev", device])
            _run(["ip", "-n", name, "link", "set", device, "up"])
        _run(["ip", "-n", POD, "route", "add", "default", "via", "10.244.0.1"])
        # Without the address, packets leave the node and are lost, as on a real network.
        _run(["ip", "-n", NODE, "route", "add", "blackhole", "169.254.0.0/16"])
        resolver = Path("/etc/netns") / POD / "resolv.conf"
        resolver.parent.mkdir(parents=True)
        resolver.write_text(f"nameserver {NODE_DNS}\nnameserver {SERVICE}\n", encoding="utf-8")
        yield
    finally:
        subprocess.run(["rm", "-rf", f"/etc/netns/{POD}"], check=False)
        for name in (NODE, POD):
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


@contextmanager
def _running(directory: Path) -> Generator[Processes]:
    processes = Processes(directory)
    try:
        yield processes
    finally:
        processes.stop()


def _await_start() -> None:
    """Waits until the node's server answers."""
    query = (
        f"import socket; s = socket.socket(2, 2); s.connect(({NODE_DNS!r}, 53)); s.settimeout(1)\n"
        "s.send(bytes.fromhex('000101000001000000000000016100000100' + '01')); s.recv(4096)"
    )
    end = time.monotonic() + 20
    while subprocess.run(_in_pod(sys.executable, "-c", query), check=False, stderr=subprocess.DEVNULL).returncode:
        assert time.monotonic() < end, "the node's server does not answer"
        time.sleep(0.2)


def _seconds() -> float:
    """Returns how long the pod's C library takes for a name."""
    began = time.monotonic()
    done = subprocess.run(_in_pod("getent", "ahostsv4", "new.example"), capture_output=True, text=True, check=True)
    assert "10.96.7.7" in done.stdout
    return time.monotonic() - began


def _in_pod(*words: str) -> list[str]:
    return ["ip", "netns", "exec", POD, *words]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)
