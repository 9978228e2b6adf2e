"""Calico enforces the rendered NetworkPolicies: connections that they admit work, and all others are refused.

Real machines, kubelets and Calico (its felix, its plugin and its address management; docs/cloud.md says what is not
Calico's). The pods have the labels of the services and listen on their ports; the services themselves do not run.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.engine.temporary_rendering import rendered
from commands.stack import load
from console.errors import UserError
from console.programs import run
from console.progress import Reporter
from contract import COMPONENT, NAME
from tests.stacks import ROOT, STACKS
from tests.trials.machines import by_hand
from toolchain import cluster_programs
from trials.cloud import bring_up, calico_images, host, masters, network, nspawn
from trials.cloud.images.prepare import prepare
from trials.cloud.lab_machines import Lab, LabMachine, lab_of

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

STACK = "dev"
MACHINES = ("master1", "master2", "master3", "database1", "messaging2")
"""Two workers on different servers; the masters are those of the stack."""
FIRST, SECOND = MACHINES[3:]
NAMESPACE, STRANGE = "openstack", "strange"
IMAGE = "quay.io/openstack.kolla/memcached:2026.1-debian-trixie"
"""Any image with Python."""
LISTEN = """\
import selectors, socket, sys
found = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    found.register(socket.create_server(("", port)), selectors.EVENT_READ)
while True:
    for key, _ in found.select():
        key.fileobj.accept()[0].close()
"""
CONNECT = """\
import concurrent.futures, json, socket, sys
source = (sys.argv[1], 0) if sys.argv[1:] else None
def reaches(target):
    try:
        socket.create_connection(tuple(target), 3, source).close()
        return True
    except OSError:
        return False
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    print(json.dumps(list(pool.map(reaches, json.load(sys.stdin)))))
"""
OUTSIDE = "198.51.100.1"
"""Address of a client outside of the cluster and of its management network (RFC 5737)."""
PORTS: Mapping[str, Sequence[int]] = {
    "mysqld": (3306, 4567, 4568, 4444, 9200),
    "rabbitmq": (5672, 15672, 15692, 4369, 25672),
    "memcached": (11211,),
    "keystone": (5000,),
}
CLIENTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "another member of Galera": (NAMESPACE, {NAME: "mysqld", COMPONENT: "mariadb"}),
    "ProxySQL": (NAMESPACE, {NAME: "proxysql", COMPONENT: "mariadb"}),
    "another member of RabbitMQ": (NAMESPACE, {NAME: "rabbitmq", COMPONENT: "rabbitmq"}),
    "nova-conductor": (NAMESPACE, {NAME: "nova-conductor", COMPONENT: "nova"}),
    "horizon": (NAMESPACE, {NAME: "horizon", COMPONENT: "horizon"}),
    "Prometheus": (NAMESPACE, {NAME: "prometheus", COMPONENT: "prometheus"}),
    "a pod without labels": (NAMESPACE, {}),
    "a pod of another namespace": (STRANGE, {}),
    "a pod of another namespace with the labels of nova-conductor": (
        STRANGE,
        {NAME: "nova-conductor", COMPONENT: "nova"},
    ),
}
MEMBERS_OF_GALERA = {("mysqld", port) for port in (3306, 4567, 4568, 4444, 9200)}
MEMBERS_OF_RABBITMQ = {("rabbitmq", port) for port in (5672, 15672, 4369, 25672)}
API = {("keystone", 5000)}
ADMITTED: Mapping[str, set[tuple[str, int]]] = {
    "another member of Galera": API | MEMBERS_OF_GALERA,
    "ProxySQL": API | {("mysqld", 3306)},
    "another member of RabbitMQ": API | MEMBERS_OF_RABBITMQ,
    "nova-conductor": API | {("rabbitmq", 5672), ("rabbitmq", 15672), ("memcached", 11211)},
    "horizon": API | {("memcached", 11211)},
    "Prometheus": API | {("rabbitmq", 15692)},
    "a pod without labels": API,
    "a pod of another namespace": API,
    "a pod of another namespace with the labels of nova-conductor": API,
    "a process of a node": API | {("rabbitmq", 5672)},
    "a pod on its node's network": API | {("rabbitmq", 5672)},
    "a host outside of the cluster": API,
}
"""What each client may connect to. A node reaches pods of its own whatever policies say, so servers and clients are on
different nodes."""


@dataclass(frozen=True)
class NetworkLab:
    """The running lab, with the addresses of the pods that listen."""

    lab: Lab
    servers: Mapping[str, str]

    @property
    def targets(self) -> list[tuple[str, int]]:
        return [(name, port) for name, ports in PORTS.items() for port in ports]

    def reached(self, ask: Callable[[str], str]) -> set[tuple[str, int]]:
        """Returns what a client reaches. `ask` runs CONNECT with this input and returns its output."""
        answer = json.loads(ask(json.dumps([(self.servers[name], port) for name, port in self.targets])))
        return {target for target, is_reached in zip(self.targets, answer, strict=True) if is_reached}


def test_connections_are_admitted_as_the_policies_say() -> None:
    with network_lab() as running:
        assert set(running.servers) == set(PORTS)
        found = {name: running.reached(_in_pod(running.lab, name)) for name in CLIENTS}
        found["a pod on its node's network"] = running.reached(_in_pod(running.lab, "a pod on its node's network"))
        found["a process of a node"] = running.reached(_on_machine(running.lab.machine(FIRST)))
        found["a host outside of the cluster"] = running.reached(_outside)
        assert found == ADMITTED
        _without_policies(running)
    by_hand.require_nothing_left()


def _without_policies(running: NetworkLab) -> None:
    """The test can see a connection that is refused: the same one works when no policy is there."""
    masters.kubectl(running.lab, "delete", "networkpolicies", "--all", f"--namespace={NAMESPACE}")
    wanted = set(running.targets)
    for _ in range(30):
        if running.reached(_in_pod(running.lab, "a pod of another namespace")) == wanted:
            return
    pytest.fail("connections are refused without NetworkPolicies")


@contextmanager
def network_lab() -> Generator[NetworkLab]:
    """Starts the machines with Calico, and the pods; removes everything afterwards."""
    reporter = Reporter()
    by_hand.skip_beside_another_lab()
    calico = cluster_programs.ensure(reporter, cluster_programs.CALICO)
    given = {"manifest": calico_images.manifest_source(calico)}
    with host.alone(), rendered(ROOT, load(ROOT, STACK), cni="calico", calico=given) as tree:
        whole = lab_of(STACK, plan(load_file(STACKS[STACK])), tree)
        machines = tuple(each for each in whole.machines if each.name in MACHINES)
        lab = replace(whole, stack=f"network{by_hand.OF_A_TEST}", machines=machines, calico=calico)
        by_hand.skip_unless_able(lab)
        bring_up.take_down()
        try:
            bring_up.bring_up(lab, [prepare({IMAGE}, reporter).archive], reporter)
            by_hand.set_up(lab)
            by_hand.await_nodes(lab)
            run(network.in_switch(["ip", "address", "add", f"{OUTSIDE}/32", "dev", "lo"]))
            _apply(lab, [*_policies(tree), *_pods()])
            yield NetworkLab(lab, _addresses(lab))
        finally:
            bring_up.take_down()


def _policies(tree: Path) -> list[dict[str, Any]]:
    files = sorted((tree / "manifests").rglob("*networkpolicy*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def _pods() -> list[dict[str, Any]]:
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, STRANGE)]
    servers = [
        _pod(name, NAMESPACE, {NAME: name, "role": "server"}, SECOND, LISTEN, *map(str, ports))
        for name, ports in PORTS.items()
    ]
    waits = "import time; time.sleep(1e6)"
    clients = [_pod(_named(name), space, labels, FIRST, waits) for name, (space, labels) in CLIENTS.items()]
    on_host = _pod(_named("a pod on its node's network"), STRANGE, {}, FIRST, waits)
    on_host["spec"]["hostNetwork"] = True
    return [*spaces, *servers, *clients, on_host]


def _pod(name: str, namespace: str, labels: Mapping[str, str], node: str, script: str, *words: str) -> dict[str, Any]:
    container = {"name": "main", "image": IMAGE, "command": ["python3", "-c", script, *words]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "nodeName": node,
            "containers": [{**container, "securityContext": {"runAsUser": 0}}],
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _named(client: str) -> str:
    """Returns the name of a client's pod."""
    return client.lower().replace(" ", "-").replace("'", "")


def _apply(lab: Lab, documents: Sequence[Mapping[str, Any]]) -> None:
    ordered = sorted(documents, key=lambda each: each["kind"] != "Namespace")
    done = masters.kubectl(lab, "apply", "--filename=-", stdin=yaml.safe_dump_all(ordered))
    if done.returncode:
        raise UserError(done.stderr)
    for namespace in (NAMESPACE, STRANGE):
        words = ("wait", "pods", "--all", "--for=condition=Ready", "--timeout=300s", f"--namespace={namespace}")
        done = masters.kubectl(lab, *words, timeout=330)
        if done.returncode:
            raise UserError(done.stderr + masters.kubectl(lab, "get", "pods", "--all-namespaces", "-owide").stdout)


def _addresses(lab: Lab) -> dict[str, str]:
    done = masters.kubectl(lab, "get", "pods", f"--namespace={NAMESPACE}", "--selector=role=server", "--output=json")
    return {each["metadata"]["name"]: each["status"]["podIP"] for each in json.loads(done.stdout)["items"]}


def _in_pod(lab: Lab, client: str) -> Callable[[str], str]:
    namespace = CLIENTS[client][0] if client in CLIENTS else STRANGE
    words = ("exec", _named(client), f"--namespace={namespace}", "--stdin", "--", "python3", "-c", CONNECT)
    return lambda given: _succeeded(masters.kubectl(lab, *words, stdin=given))


def _on_machine(machine: LabMachine) -> Callable[[str], str]:
    return lambda given: _succeeded(nspawn.run_in(machine, ["python3", "-c", CONNECT], stdin=given))


def _outside(given: str) -> str:
    command = network.in_switch(["python3", "-c", CONNECT, OUTSIDE])
    return _succeeded(subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False))


def _succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout
