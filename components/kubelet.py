"""Files and steps that make a machine a Kubernetes node: its labels, taints, address and size, and how it joins.

kubelet and kubeadm read the same labels and taints that proofs read in node.yaml; all of them come from the plan's
nodes (blueprint/plan/nodes.py), so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blueprint.plan.nodes import Capacity, Node
from components import documents
from components.documents import Place, template
from components.machine import File, Parts, Step
from contract import RACK, SERVER, ZONE

CRI_SOCKET = "unix:///run/containerd/containerd.sock"
KUBERNETES = "/etc/kubernetes"
CONFIGURATION = f"{KUBERNETES}/kubeadm.yaml"
PATCHES = f"{KUBERNETES}/patches"
"""Where kubeadm finds the machine's patch of kubelet's configuration: the cluster-wide one has no taints."""
NODE = "/etc/quorate/node.yaml"
DISCOVERY = f"{KUBERNETES}/discovery.conf"
"""A kubeconfig with the cluster's address, its CA and a bootstrap token. Nothing renders it yet."""

KUBEADM = "kubeadm.k8s.io/v1beta4"
API_PORT = 6443


def parts(node: Node) -> Parts:
    """What every machine has, whatever else it is."""
    return Parts(
        files=(
            File(f"{PATCHES}/kubeletconfiguration.yaml", template(kubelet_configuration(node))),
            File(NODE, template(facts(node))),
        )
    )


def worker_parts(node: Node) -> Parts:
    """What a machine joins the cluster with, unless it is a master."""
    return Parts(
        files=(File(CONFIGURATION, template(join_configuration(node))),),
        steps=(
            await_files("await-discovery", "the way to the cluster", [DISCOVERY]),
            join("await-discovery"),
            _USE_PROXY,
        ),
    )


def join(*after: str) -> Step:
    """Joins the machine to the cluster, as a worker or as a further master."""
    return Step(
        name="join",
        does="Joins this machine to the cluster.",
        check=f'[ -f "$ROOT{KUBERNETES}/kubelet.conf" ]',
        apply=f'kubeadm join --config "$ROOT{CONFIGURATION}"',
        after=after,
    )


def await_files(name: str, what: str, paths: Sequence[str]) -> Step:
    """Stops the run until somebody has placed files that nothing renders yet; `what` names them in the message."""
    tests = "\n".join(f'[ -f "$ROOT{path}" ]' for path in paths)
    missing = "\n".join(f'[ -f "$ROOT{path}" ] || echo "  {path}" >&2' for path in paths)
    return Step(
        name=name,
        does=f"Stops until {what} are there; they are placed from outside.",
        check=tests,
        apply=f'echo "missing {what}; place these files, then run apply again:" >&2\n{missing}\nexit 1',
    )


_USE_PROXY = Step(
    name="use-api-proxy",
    does="Sends kubelet to this machine's own proxy; kubeadm join names one master only.",
    check=f'grep -q "server: https://127.0.0.1:{API_PORT}" "$ROOT{KUBERNETES}/kubelet.conf"',
    apply=f"""\
sed -i "s|server: https://.*|server: https://127.0.0.1:{API_PORT}|" "$ROOT{KUBERNETES}/kubelet.conf"
systemctl restart kubelet.service""",
    after=("join",),
)


def labels(node: Node) -> dict[str, str]:
    """The node's labels, with places for what differs within a pool."""
    places = {SERVER: documents.SERVER, RACK: documents.RACK, ZONE: documents.RACK}
    return {key: places.get(key, value) for key, value in node.labels.items()}


def taints(node: Node) -> list[dict[str, str]]:
    """The plan's `key=value:effect`, as Kubernetes writes taints; an empty value is left out."""
    found: list[dict[str, str]] = []
    for taint in node.taints:
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return found


def quantities(capacity: Capacity) -> dict[str, str]:
    """A capacity as Kubernetes writes them."""
    return {"cpu": str(capacity.cpu), "memory": f"{capacity.memory}Gi"}


def kubelet_configuration(node: Node) -> dict[str, Any]:
    """The machine's own part of kubelet's configuration.

    It includes the taints, so that a new node is never schedulable without them, and reserves what a virt host's
    virtual machines take.
    """
    kept = node.reserved
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "registerWithTaints": taints(node),
        **({"systemReserved": quantities(kept)} if kept != Capacity(0, 0) else {}),
    }


def node_registration(node: Node) -> dict[str, Any]:
    """The part of InitConfiguration and JoinConfiguration that describes the node."""
    pairs = ",".join(f"{key}={value}" for key, value in labels(node).items())
    return {
        "name": documents.NODE,
        "criSocket": CRI_SOCKET,
        "taints": taints(node),
        "kubeletExtraArgs": [
            {"name": "node-ip", "value": documents.ADDRESS},
            {"name": "node-labels", "value": Place(pairs)},
        ],
    }


def join_configuration(node: Node) -> dict[str, Any]:
    """How the node joins. The way to the cluster is a file on the machine: it holds a token, and this holds none."""
    return {
        "apiVersion": KUBEADM,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY}},
        "nodeRegistration": node_registration(node),
        "patches": {"directory": PATCHES},
    }


def facts(node: Node) -> dict[str, Any]:
    """The node as the API server will show it, for proofs, which have no machine."""
    return {
        "name": documents.NODE,
        "address": documents.ADDRESS,
        "capacity": quantities(Capacity(node.machine.cpu, node.machine.memory)),
        "allocatable": quantities(node.allocatable),
        "labels": labels(node),
        "taints": taints(node),
    }
