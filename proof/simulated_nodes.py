"""Registers the nodes of a rendered stack as their kubelets would.

Labels and taints come from the machine's kubeadm and kubelet configuration, as on a real machine. The capacity comes
from /etc/quorate/node.yaml, which must have the same labels and taints. Each node is registered by the user
`system:node:<name>`, so that the admission plugin NodeRestriction applies as for a kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cluster.api import STRATEGIC, Api, ApiError, Unreachable, error_of
from cluster.objects import Object, listed, texts
from files import yaml_reader
from formats.kubernetes_quantity import parse
from proof.violations import Violation

NODE = "root/etc/quorate/node.yaml"
KUBEADM = "root/etc/kubernetes/kubeadm.yaml"
KUBELET = "root/etc/kubernetes/patches/kubeletconfiguration.yaml"
"""Paths of a machine's files below its directory in the rendered tree."""
PODS = "110"
"""Maximum number of pods of a node: kubelet's default for maxPods."""
MARK_CONTROL_PLANE = {
    "node-role.kubernetes.io/control-plane": "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
}
"""Labels that kubeadm sets on the node of a master. A kubelet may not set these labels itself."""
_PLATFORM = {
    f"{prefix}kubernetes.io/{key}": value
    for prefix in ("", "beta.")
    for key, value in (("os", "linux"), ("arch", "amd64"))
}
"""Labels that kubelet sets on its node, from the machine's operating system and architecture."""


@dataclass(frozen=True)
class SimulatedMachine:
    """A machine as its rendered files describe it."""

    name: str
    address: str
    capacity: dict[str, str]
    allocatable: dict[str, str]
    labels: dict[str, str]
    taints: list[dict[str, str]]
    is_master: bool

    def node(self) -> Object:
        """Returns the Node object that the machine's kubelet would register."""
        own = {"kubernetes.io/hostname": self.name, **_PLATFORM}
        addresses = [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": {**own, **self.labels}},
            "spec": {"taints": self.taints},
            "status": {
                "capacity": self.capacity,
                "allocatable": self.allocatable,
                "addresses": addresses,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            },
        }


def read_machines(directory: Path) -> tuple[list[SimulatedMachine], list[Violation]]:
    """Reads the machines of a rendered tree.

    Returns the machines, and findings for files that contradict each other.
    """
    machines: list[SimulatedMachine] = []
    findings: list[Violation] = []
    for place in sorted(path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if (place / NODE).exists():
            machine, wrong = _read(place)
            machines.append(machine)
            findings += wrong
    return machines, findings


def _read(place: Path) -> tuple[SimulatedMachine, list[Violation]]:
    facts = next(_documents(place / NODE))
    registers = _kubeadm(place)
    join = cast("Object", registers.get("nodeRegistration") or {})
    none: Object = {}
    kubelet = next((each for each in _documents(place / KUBELET)), none)
    arguments = {each["name"]: each["value"] for each in listed(join, "kubeletExtraArgs")}
    pairs = [pair.partition("=") for pair in arguments.get("node-labels", "").split(",") if pair]
    labels = {key: value for key, _, value in pairs}
    taints = cast("list[dict[str, str]]", join.get("taints") or [])
    findings = [
        Violation("node-files-agree", f"node {place.name}", f"{what} of {file} differ from node.yaml")
        for what, file, one, other in (
            ("labels", "kubeadm's configuration", labels, facts["labels"]),
            ("taints", "kubeadm's configuration", taints, facts["taints"]),
            ("taints", "kubelet's configuration", kubelet.get("registerWithTaints", facts["taints"]), facts["taints"]),
        )
        if one != other
    ]
    capacity = {**facts["capacity"], "pods": str(kubelet.get("maxPods", PODS))}
    allocatable = _allocatable(capacity, kubelet)
    is_master = registers.get("kind") == "InitConfiguration" or "controlPlane" in registers
    name, address = join.get("name", facts["name"]), arguments.get("node-ip", facts["address"])
    return SimulatedMachine(name, address, capacity, allocatable, labels, taints, is_master), findings


def _kubeadm(place: Path) -> Object:
    """Returns kubeadm's InitConfiguration or JoinConfiguration of a machine; {} if the machine has neither."""
    for document in _documents(place / KUBEADM):
        if document["kind"] in ("InitConfiguration", "JoinConfiguration"):
            return document
    return {}


def _documents(file: Path) -> Iterator[Object]:
    if file.exists():
        yield from (each for each in yaml_reader.load_all(file.read_text(encoding="utf-8")) if each)


def _allocatable(capacity: dict[str, str], kubelet: Object) -> dict[str, str]:
    """Returns a node's capacity less systemReserved and kubeReserved of its kubelet configuration."""
    left = dict(capacity)
    for key in ("systemReserved", "kubeReserved"):
        reserved = texts(kubelet, key)
        if "cpu" in reserved:
            left["cpu"] = f"{_milli(left['cpu']) - _milli(reserved['cpu'])}m"
        if "memory" in reserved:
            left["memory"] = f"{_kibi(left['memory']) - _kibi(reserved['memory'])}Ki"
    return left


def _milli(quantity: str) -> int:
    return int(parse(quantity) * 1000)


def _kibi(quantity: str) -> int:
    return int(parse(quantity) / 1024)


def register(api: Api, machine: SimulatedMachine) -> None:
    """Registers a node as its kubelet does, and labels a master as kubeadm does. Raises ApiError or Unreachable."""
    identity = {"Impersonate-User": f"system:node:{machine.name}", "Impersonate-Group": "system:nodes"}
    reply = api.call("POST", "/api/v1/nodes", machine.node(), headers=identity)
    if reply.status >= 300:
        raise error_of(reply)
    if machine.is_master:
        labels = {"metadata": {"labels": MARK_CONTROL_PLANE}}
        api.ask("PATCH", f"/api/v1/nodes/{machine.name}", labels, content=STRATEGIC)


def register_all(api: Api, machines: Iterable[SimulatedMachine]) -> list[Violation]:
    """Registers the nodes of machines. Returns a finding for each node that the API server rejects."""

    def one(machine: SimulatedMachine) -> Violation | None:
        try:
            register(api, machine)
        except (ApiError, Unreachable) as error:
            return Violation("node-registers", f"node {machine.name}", str(error))
        return None

    with ThreadPoolExecutor(8) as pool:
        return [finding for finding in pool.map(one, machines) if finding]
