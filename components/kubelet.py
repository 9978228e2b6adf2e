"""What every Kubernetes node is told of itself: its labels, taints, address and size.

kubelet and kubeadm read the same labels and taints that policies and proofs read in node.yaml; all of them come from
the plan's nodes (blueprint/plan/nodes.py), so that they cannot disagree.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Capacity, Node
from components import documents
from components.documents import Place, template
from contract import RACK, SERVER, ZONE

CRI_SOCKET = "unix:///run/containerd/containerd.sock"
PATCHES = "/etc/kubernetes/patches"
"""Where kubeadm finds kubelet.yaml, as its patch `kubeletconfiguration`: the cluster-wide one has no taints."""

KUBEADM = "kubeadm.k8s.io/v1beta4"
API_PORT = 6443


def files(node: Node) -> dict[str, str]:
    """Templates that every machine has, whatever else it is."""
    return {
        "kubelet.yaml": template(kubelet_configuration(node)),
        "node.yaml": template(facts(node)),
    }


def join(node: Node) -> dict[str, str]:
    """What a worker joins the cluster with."""
    return {"kubeadm-join.yaml": template(join_configuration(node))}


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
        "discovery": {"file": {"kubeConfigPath": "/etc/kubernetes/discovery.conf"}},
        "nodeRegistration": node_registration(node),
        "patches": {"directory": PATCHES},
    }


def facts(node: Node) -> dict[str, Any]:
    """The node as the API server will show it, for whoever makes or checks one without the machine."""
    return {
        "name": documents.NODE,
        "address": documents.ADDRESS,
        "capacity": quantities(Capacity(node.machine.cpu, node.machine.memory)),
        "allocatable": quantities(node.allocatable),
        "labels": labels(node),
        "taints": taints(node),
    }
