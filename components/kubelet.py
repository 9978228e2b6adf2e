"""Files that make a machine a Kubernetes node: labels, taints, address and size, and with which settings it joins.

The labels and taints in the files for kubelet and kubeadm, and in node.yaml for proofs, come from the nodes of the plan
(blueprint/plan/nodes.py), so that the files agree.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Capacity, Node
from components.machine import File, Parts, Unit
from contract import RACK, SERVER, ZONE
from files import yaml_writer
from files.yaml_writer import Place, template

CRI_SOCKET = "unix:///run/containerd/containerd.sock"
KUBERNETES = "/etc/kubernetes"
CONFIGURATION = f"{KUBERNETES}/kubeadm.yaml"
PATCHES = f"{KUBERNETES}/patches"
"""Directory of kubeadm patches. A patch contains the machine's own taints, which are not in the cluster-wide
configuration."""
NODE = "/etc/quorate/node.yaml"
DISCOVERY = f"{KUBERNETES}/discovery.conf"
"""A kubeconfig with the cluster's address, its CA and a client certificate, with which a machine joins."""
JOINING = "/run/quorate-discovery.conf"
"""A copy of it with the address of an API server that answers, while kubeadm joins the machine."""

KUBEADM = "kubeadm.k8s.io/v1beta4"
TIMEOUTS = {"controlPlaneComponentHealthCheck": "10m0s", "kubernetesAPICall": "3m0s", "tlsBootstrap": "10m0s"}
"""How long kubeadm waits for a new API server, for one of its answers, and for a kubelet's certificate. With its
defaults, 4, 1 and 5 min, it gave up on emulated processors and had to be run again. Project figures."""


def parts(node: Node) -> Parts:
    """Returns the files that every machine has: kubelet's patch, and node.yaml, the node's facts for proofs."""
    return Parts(
        files=(
            File(f"{PATCHES}/kubeletconfiguration.yaml", template(kubelet_configuration(node))),
            # kubelet counts CPUs and memory when it starts; a virtual machine's can change while it runs.
            File(NODE, template(facts(node)), restarts=Unit("kubelet.service")),
        )
    )


def join_file(node: Node) -> File:
    """Returns kubeadm's configuration of a machine that is not a master."""
    return File(CONFIGURATION, template(join_configuration(node)))


def labels(node: Node) -> dict[str, str]:
    """Returns the node's labels, with placeholders for values that differ between the nodes of a machine pool."""
    places = {SERVER: yaml_writer.SERVER, RACK: yaml_writer.RACK, ZONE: yaml_writer.RACK}
    return {key: places.get(key, value) for key, value in node.labels.items()}


def taints(node: Node) -> list[dict[str, str]]:
    """Returns a node's taints as Kubernetes objects. An empty value of a taint is left out."""
    found: list[dict[str, str]] = []
    for taint in node.taints:
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return found


def quantities(capacity: Capacity) -> dict[str, str]:
    """Returns CPU and memory as Kubernetes quantities, such as 4 and 8Gi."""
    return {"cpu": str(capacity.cpu), "memory": f"{capacity.memory}Gi"}


def kubelet_configuration(node: Node) -> dict[str, Any]:
    """Returns the part of kubelet's configuration that is the machine's own: taints and reserved resources.

    With the taints in this configuration, a new node is never schedulable without its taints. A virt host reserves
    the resources of its virtual machines.
    """
    kept = node.reserved
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "registerWithTaints": taints(node),
        **({"systemReserved": quantities(kept)} if kept != Capacity(0, 0) else {}),
    }


def node_registration(node: Node) -> dict[str, Any]:
    """Returns the nodeRegistration of kubeadm's InitConfiguration or JoinConfiguration, which describes the node."""
    pairs = ",".join(f"{key}={value}" for key, value in labels(node).items())
    return {
        "name": yaml_writer.NODE,
        "criSocket": CRI_SOCKET,
        "taints": taints(node),
        "kubeletExtraArgs": [
            {"name": "node-ip", "value": yaml_writer.ADDRESS},
            {"name": "node-labels", "value": Place(pairs)},
        ],
    }


def join_configuration(node: Node) -> dict[str, Any]:
    """Returns kubeadm's JoinConfiguration for a node.

    The token is not in it, but in a discovery file on the machine.
    """
    return {
        "apiVersion": KUBEADM,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": JOINING}},
        "nodeRegistration": node_registration(node),
        "patches": {"directory": PATCHES},
        "timeouts": TIMEOUTS,
    }


def facts(node: Node) -> dict[str, Any]:
    """Returns the node as the API server would report it.

    Proofs, which run without machines, register nodes from this.
    """
    return {
        "name": yaml_writer.NODE,
        "address": yaml_writer.ADDRESS,
        "capacity": quantities(Capacity(node.machine.cpu, node.machine.memory)),
        "allocatable": quantities(node.allocatable),
        "labels": labels(node),
        "taints": taints(node),
    }
