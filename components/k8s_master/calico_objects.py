"""Calico's own objects and the changes to its manifest, as documents.

Calico's manifest tunnels all packets between nodes (IPIP), takes the first address of a node that it finds, and filters
packets by iptables. Kustomize, which is a part of kubectl, changes these settings when the manifest is applied.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from blueprint import node_software
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.settings import BgpPeer
from components.k8s_master.versions import large
from contract import HOSTNAME, MANAGED_BY, RACK

API = "crd.projectcalico.org/v1"
AS_NUMBER = 64512
"""BGP's first private AS number, which is also Calico's default."""
POOL = "default-ipv4-ippool"
"""The name that Calico gives the pool that it makes by itself. On clusters of an earlier Quorate, it exists."""
TUNNELS = "tunnels"
BLOCK = 26
"""Prefix of the addresses that a node takes from the pods' network at a time: 64. Calico's default."""
CHANGES = "changes.yaml"
STAMP = "quorate.io/manifest"
"""Annotation of the DaemonSet: digest of the manifest and its changes that were applied."""

NODES_OF_A_TYPHA = 200
LEAST_TYPHAS = 3
"""Calico's manifest recommends a replica of Typha for each 100 to 200 nodes, and at least 3."""

ENVIRONMENT = {
    # The pools below are the only ones.
    "NO_DEFAULT_POOLS": "true",
    "CALICO_IPV4POOL_IPIP": "Never",
    "CALICO_IPV4POOL_VXLAN": "Never",
    # The address that kubelet reports. Calico's default is the first address that is not of a bridge with a known name:
    # on hosts with bridges of their own, it is that of another network, or none.
    "IP_AUTODETECTION_METHOD": "kubernetes-internal-ip",
    # kube-proxy uses nftables too; Calico requires that both use the same.
    "FELIX_NFTABLESMODE": "Enabled",
}
"""Variables of calico-node."""


def route_reflectors(plan: Plan) -> tuple[Node, ...]:
    """Returns the masters that are Calico's route reflectors; () if all nodes peer with each other."""
    return plan.masters if large(plan) else ()


def typhas(plan: Plan) -> int:
    """Returns the number of Typha's replicas; 0 without Typha."""
    nodes = len(plan.nodes)
    return max(LEAST_TYPHAS, math.ceil(nodes / NODES_OF_A_TYPHA)) if node_software.has_typha(nodes) else 0


def kustomization(plan: Plan, manifest: str) -> dict[str, Any]:
    """Returns how the manifest is applied. `manifest`: its file name."""
    found: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [manifest],
        "patches": [{"path": CHANGES}],
    }
    if replicas := typhas(plan):
        found["replicas"] = [{"name": "calico-typha", "count": replicas}]
    if images := list(_mirrored(plan)):
        found["images"] = images
    return found


def _mirrored(plan: Plan) -> Iterator[dict[str, str]]:
    """Yields Calico's images with their names in the stack's mirror. Other manifests may have them elsewhere."""
    for registry in node_software.CALICO_REGISTRIES:
        for program in (*node_software.CALICO_PROGRAMS, node_software.TYPHA):
            name = f"{registry}/calico/{program}"
            if (mirrored := plan.settings.images.located(name)) != name:
                yield {"name": name, "newName": mirrored}


def changes(plan: Plan, stamp: str) -> list[dict[str, Any]]:
    """Returns the changes to the manifest. `stamp`: value of the annotation `STAMP`."""
    container = {"name": "calico-node", "env": [{"name": name, "value": value} for name, value in ENVIRONMENT.items()]}
    mtu = str(plan.settings.calico.mtu or 0)  # 0: from the MTU of the node's interface
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "calico-node", "namespace": "kube-system", "annotations": {STAMP: stamp}},
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "calico-config", "namespace": "kube-system"},
            "data": {"veth_mtu": mtu},
        },
    ]


def network(plan: Plan) -> list[dict[str, Any]]:
    """Returns the pools of addresses, and which nodes exchange routes with which others."""
    reflectors = route_reflectors(plan)
    return [
        *_pools(plan),
        _object("BGPConfiguration", "default", asNumber=AS_NUMBER, nodeToNodeMeshEnabled=not reflectors),
        *([_reflected(reflectors)] if reflectors else []),
        *(_outside(peer) for peer in plan.settings.calico.peers),
    ]


def _pools(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yields the pool of the pods' addresses, and that of the tunnels, which NetworkPolicies admit."""
    given = plan.settings.calico
    modes = {
        "ipipMode": "Always" if given.encapsulation == "ipip" else "Never",
        "vxlanMode": "Always" if given.encapsulation == "vxlan" else "Never",
    }
    common = {**modes, "natOutgoing": True, "nodeSelector": "all()"}
    pods = plan.settings.networks.pods
    yield _object("IPPool", POOL, cidr=str(pods), blockSize=BLOCK, allowedUses=["Workload"], **common)
    if given.tunnels:
        yield _object("IPPool", TUNNELS, cidr=str(given.tunnels), blockSize=32, allowedUses=["Tunnel"], **common)


def _reflected(reflectors: Sequence[Node]) -> dict[str, Any]:
    names = ", ".join(f"'{node.name}'" for node in reflectors)
    return _object("BGPPeer", "route-reflectors", nodeSelector="all()", peerSelector=f"{HOSTNAME} in {{ {names} }}")


def _outside(peer: BgpPeer) -> dict[str, Any]:
    name = f"router-{str(peer.address).replace('.', '-')}"
    if peer.rack:  # a rack's name may have characters that an object's name may not have
        name += f"-{hashlib.sha256(peer.rack.encode()).hexdigest()[:8]}"
    nodes = f"{RACK} == '{peer.rack}'" if peer.rack else "all()"
    return _object("BGPPeer", name, nodeSelector=nodes, peerIP=str(peer.address), asNumber=peer.as_number)


def _object(kind: str, name: str, **spec: object) -> dict[str, Any]:
    labels = {MANAGED_BY: "quorate"}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}
