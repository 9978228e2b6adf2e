"""Files and steps that make a machine a Kubernetes node: its labels, taints, address and size, and how it joins.

The labels and taints in the files for kubelet and kubeadm, and in node.yaml for proofs, all come from the plan's nodes
(blueprint/plan/nodes.py), so that they cannot differ.
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
"""Directory of kubeadm patches. It contains this machine's taints, which the cluster-wide configuration lacks."""
NODE = "/etc/quorate/node.yaml"
DISCOVERY = f"{KUBERNETES}/discovery.conf"
"""A kubeconfig with the cluster's address, its CA and a bootstrap token. Nothing renders it yet."""

KUBEADM = "kubeadm.k8s.io/v1beta4"
API_PORT = 6443


def parts(node: Node) -> Parts:
    """Returns the files that every machine has."""
    return Parts(
        files=(
            File(f"{PATCHES}/kubeletconfiguration.yaml", template(kubelet_configuration(node))),
            File(NODE, template(facts(node))),
        )
    )


def worker_parts(node: Node) -> Parts:
    """Returns the files and steps with which a machine other than a master joins the cluster."""
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
    """Returns a step that stops the run until the operator has placed the files; `what` names them in messages."""
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
    """Returns the node's labels, with placeholders for values that differ within a pool."""
    places = {SERVER: documents.SERVER, RACK: documents.RACK, ZONE: documents.RACK}
    return {key: places.get(key, value) for key, value in node.labels.items()}


def taints(node: Node) -> list[dict[str, str]]:
    """Converts the plan's `key=value:effect` to Kubernetes' form of taints; an empty value is left out."""
    found: list[dict[str, str]] = []
    for taint in node.taints:
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return found


def quantities(capacity: Capacity) -> dict[str, str]:
    """Returns a capacity as Kubernetes quantities."""
    return {"cpu": str(capacity.cpu), "memory": f"{capacity.memory}Gi"}


def kubelet_configuration(node: Node) -> dict[str, Any]:
    """Returns the machine's own part of kubelet's configuration.

    It contains the taints, so that a new node is never schedulable without them, and reserves the resources of a virt
    host's virtual machines.
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
    """Returns the JoinConfiguration. It refers to a discovery file on the machine, so that it contains no token."""
    return {
        "apiVersion": KUBEADM,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY}},
        "nodeRegistration": node_registration(node),
        "patches": {"directory": PATCHES},
    }


def facts(node: Node) -> dict[str, Any]:
    """Returns the node as the API server will report it, for proofs, which run without machines."""
    return {
        "name": documents.NODE,
        "address": documents.ADDRESS,
        "capacity": quantities(Capacity(node.machine.cpu, node.machine.memory)),
        "allocatable": quantities(node.allocatable),
        "labels": labels(node),
        "taints": taints(node),
    }
