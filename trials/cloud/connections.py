"""Tries which connections a running lab's NetworkPolicies admit: from each kind of client to each port of a process.

What they must admit is what the projects' records say of each port (`clients`); the rendered policies are not read. A
connection that is refused by a policy has no answer at all; one that is admitted is made, or is answered by a reset if
nothing listens on the port.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import contract
from blueprint.openstack.projects.process_definition import Client, ProcessDefinition
from blueprint.plan.plan import Plan
from cluster.objects import Object, name, text, texts
from console.errors import UserError
from openstack import clients
from openstack.config.wiring import wiring
from trials.cloud import masters, network
from trials.cloud.client import NAMESPACE
from trials.cloud.drill import workloads
from trials.cloud.lab_machines import Lab

STRANGER = "quorate-stranger"
"""Name of a namespace without Quorate, and of its pod."""
_OUTSIDE = "a host outside of the cloud"
_USERS = ("nova-scheduler", "keystone", "influxdb-grafana")
"""Processes whose pods connect to others: of a project that needs most others, of one that others need, and the one
that reads all metrics."""
_MEMBERS = ("rabbitmq", "mysqld")
"""Quorums on the pods' network in every lab. A member tries the ports of another one."""
_ON_A_NODE = "nova-compute"
"""A process on the network of its node."""
SILENCE = 4
"""Seconds without an answer after which a connection counts as refused. Project figure."""
STARTING = 120
"""Seconds in which the stranger's pod must be ready."""
_FROM_A_POD = f"""\
for target; do
  ( said=$(timeout {SILENCE} bash -c "exec 3<>/dev/tcp/${{target%:*}}/${{target#*:}}" 2>&1); code=$?
    case $code,$said in
    0,*|*refused*) echo "$target answers" ;;
    124,*) echo "$target silent" ;;
    *) echo "$target failed $said" ;;
    esac ) &
done
wait
"""
_FROM_OUTSIDE = f"""\
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def tried(target):
    host, port = target.split(":")
    try:
        socket.create_connection((host, int(port)), {SILENCE}, (sys.argv[1], 0)).close()
    except ConnectionRefusedError:
        pass
    except TimeoutError:
        return f"{{target}} silent"
    except OSError as error:
        return f"{{target}} failed {{error}}"
    return f"{{target}} answers"
with ThreadPoolExecutor(64) as pool:
    print(*pool.map(tried, sys.argv[2:]), sep="\\n")
"""


@dataclass(frozen=True)
class ConnectionClient:
    """Who connects."""

    title: str
    pod: str | None = None
    """The pod, as kubectl names it, with its namespace; None for a host outside of the cloud."""
    namespace: str = NAMESPACE
    process: str = ""
    """The process of the pod; empty outside of Quorate's namespace."""
    project: str = ""
    node: str = ""
    """The node, if the pod is on the network of its node."""


@dataclass(frozen=True)
class ConnectionTarget:
    """A port of a pod."""

    process: ProcessDefinition
    address: str
    port: int
    node: str
    admits: tuple[Client, ...]
    needing: tuple[str, ...]
    """The projects that need the process."""

    @property
    def endpoint(self) -> str:
        return f"{self.address}:{self.port}"


def admitted(target: ConnectionTarget, client: ConnectionClient) -> bool:
    """Returns whether a target must admit a client."""
    kinds: dict[Client, bool] = {
        "everyone": True,
        "nodes": bool(client.node),
        "members": client.process == target.process.name,
        "project": client.project == target.process.project,
        "needs": client.project in target.needing,
        "monitoring": client.project == clients.MONITORING,
    }
    # Pods on a node's network have its address, by which they are not pods of their project.
    return any(kinds[kind] for kind in target.admits if kind in ("everyone", "nodes") or not client.node)


def try_all(lab: Lab, planned: Plan) -> str:
    """Tries every port from each kind of client, and returns a line for each client.

    Raises UserError with every connection that is admitted and must not be, or the other way round.
    """
    pods = [each for each in workloads.of_openstack(lab, "pods") if text(each, "status", "phase") == "Running"]
    targets = list(_targets(planned, pods))
    try:
        known = [*_clients(pods), _stranger(lab, pods)]
        found = {each: _tried(lab, each, targets) for each in known}
    finally:
        masters.kubectl(lab, "delete", "namespace", STRANGER, "--ignore-not-found", "--wait=false")
    if wrong := [problem for each in known for problem in problems(each, targets, found[each])]:
        raise UserError("NetworkPolicies are not as the records say:\n" + "\n".join(wrong))
    return "\n".join(_line(each, targets, found[each]) for each in known)


def problems(client: ConnectionClient, targets: Sequence[ConnectionTarget], found: Mapping[str, str]) -> Iterator[str]:
    """Yields each connection of a client that is not as it must be. `found`: what was seen, by endpoint."""
    for target in _of_other_nodes(client, targets):
        said = found.get(target.endpoint, "was not tried")
        if said != (wanted := "answers" if admitted(target, client) else "silent"):
            yield f"  {client.title} to {target.process.name}, port {target.port}: {said}, must be: {wanted}"


def _of_other_nodes(client: ConnectionClient, targets: Sequence[ConnectionTarget]) -> list[ConnectionTarget]:
    """Leaves out what a node runs itself: it always reaches its own pods, for their probes."""
    return [each for each in targets if not client.node or each.node != client.node]


def _line(client: ConnectionClient, targets: Sequence[ConnectionTarget], found: Mapping[str, str]) -> str:
    tried = _of_other_nodes(client, targets)
    answers = sorted({each.process.name for each in tried if found[each.endpoint] == "answers"})
    refused = sum(found[each.endpoint] == "silent" for each in tried)
    return f"{client.title}: {refused} of {len(tried)} ports refused; admitted by {', '.join(answers) or 'none'}"


def _process(pod: Object) -> str:
    """Returns the name of a pod's process; "" for a pod that has none."""
    return texts(pod, "metadata", "labels").get(contract.NAME, "")


def _targets(planned: Plan, pods: Sequence[Object]) -> Iterator[ConnectionTarget]:
    """Yields each TCP port of the first pod of each process that is on the network of pods; both ends of a range."""
    around = wiring(planned, NAMESPACE)
    seen: set[str] = set()
    for pod in pods:
        process = around.records.processes.get(_process(pod))
        if process is None or process.name in seen or text(pod, "spec", "hostNetwork") == "True":
            continue
        seen.add(process.name)
        needing = clients.needed_by(process, around)
        for port in process.ports:
            if port.protocol == "TCP":
                address, node = text(pod, "status", "podIP"), text(pod, "spec", "nodeName")
                for number in sorted({port.numbers[0], port.numbers[-1]}):
                    yield ConnectionTarget(process, address, number, node, port.clients, needing)


def _clients(pods: Sequence[Object]) -> Iterator[ConnectionClient]:
    """Yields the clients of Quorate's namespace that the lab has, and the host outside."""
    yield ConnectionClient(_OUTSIDE)
    for process in (*_USERS, _ON_A_NODE):
        pod = next((each for each in pods if _process(each) == process), None)
        if pod is not None:
            yield _client(f"a pod of {process}", pod)
    for process in _MEMBERS:
        members = [each for each in pods if _process(each) == process]
        if len(members) > 1:  # the first one is the target
            yield _client(f"another member of {process}", members[-1])


def _client(title: str, pod: Object) -> ConnectionClient:
    project = texts(pod, "metadata", "labels")[contract.COMPONENT]
    node = text(pod, "spec", "nodeName") if text(pod, "spec", "hostNetwork") == "True" else ""
    return ConnectionClient(title, name(pod), process=_process(pod), project=project, node=node)


def _stranger(lab: Lab, pods: Sequence[Object]) -> ConnectionClient:
    """Starts a pod in a namespace of its own, with an image that its node has."""
    model = next(each for each in pods if _process(each) == "keystone")
    container = {
        "name": "stranger",
        "image": model["spec"]["containers"][0]["image"],
        "imagePullPolicy": "Never",
        "command": ["sleep", "infinity"],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": STRANGER, "namespace": STRANGER, "labels": texts(model, "metadata", "labels")},
        "spec": {
            "nodeName": model["spec"]["nodeName"],
            "containers": [container],
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
        },
    }
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STRANGER}}
    documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": [space, pod]})
    made = masters.kubectl(lab, "apply", "--filename=-", stdin=documents)
    wait = ("wait", "--for=condition=Ready", f"pod/{STRANGER}", f"--namespace={STRANGER}", f"--timeout={STARTING}s")
    done = made if made.returncode else masters.kubectl(lab, *wait, timeout=STARTING + 20)
    if done.returncode:
        raise UserError(f"The pod {STRANGER} is not ready: {done.stderr.strip()[-300:]}")
    return ConnectionClient("a pod with Keystone's labels in another namespace", STRANGER, STRANGER)


def _tried(lab: Lab, client: ConnectionClient, targets: Sequence[ConnectionTarget]) -> dict[str, str]:
    """Connects to every target at once. Returns for each endpoint `answers`, `silent`, or how it failed."""
    endpoints = [each.endpoint for each in targets]
    if client.pod is None:
        command = network.in_switch([sys.executable, "-c", _FROM_OUTSIDE, str(network.OUTSIDE.ip), *endpoints])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    else:
        flags = ("exec", client.pod, f"--namespace={client.namespace}", "--", "bash", "-c", _FROM_A_POD, "try")
        done = masters.kubectl(lab, *flags, *endpoints)
    if done.returncode:
        raise UserError(f"{client.title} cannot try its connections: {done.stderr.strip()[-300:]}")
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())
