"""Calico's BGP resources as files on every master.

Quorate does not install Calico or apply the files: the operator does.

In clusters of fewer than 1000 nodes, every node peers with every other node. At 1000 nodes, this full mesh took
'significant time during node startup', and source 004 (5.5.8) requires route reflectors. Quorate uses the masters,
which are on different servers and start before the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import template
from components.k8s_master.versions import large
from components.kubelet import KUBERNETES
from components.machine import File, Parts
from contract import HOSTNAME

DIRECTORY = f"{KUBERNETES}/calico"
DATASTORE = "kubernetes"
API = "projectcalico.org/v3"
AS_NUMBER = 64512
"""BGP's first private AS number, which is also Calico's default."""
CLUSTER_ID = "244.0.0.1"


def route_reflectors(plan: Plan) -> tuple[Node, ...]:
    """Returns the masters that are Calico's route reflectors; () if all nodes peer with each other."""
    return plan.masters if large(plan) else ()


def parts(plan: Plan) -> Parts:
    """Returns the files with Calico's BGP resources. No step applies them, because Quorate does not install Calico."""
    reflectors = route_reflectors(plan)
    found = [File(f"{DIRECTORY}/bgp-configuration.yaml", template(_bgp_configuration(mesh=not reflectors)))]
    if reflectors:
        routes = template(*(_reflector(node) for node in reflectors))
        found.append(File(f"{DIRECTORY}/bgp-peers.yaml", template(_bgp_peer(reflectors))))
        found.append(File(f"{DIRECTORY}/route-reflectors.yaml", routes))
    return Parts(tuple(found))


def _bgp_configuration(*, mesh: bool) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "BGPConfiguration",
        "metadata": {"name": "default"},
        "spec": {"asNumber": AS_NUMBER, "nodeToNodeMeshEnabled": mesh, "logSeverityScreen": "Info"},
    }


def _bgp_peer(reflectors: Sequence[Node]) -> dict[str, Any]:
    names = ", ".join(f"'{node.name}'" for node in reflectors)
    return {
        "apiVersion": API,
        "kind": "BGPPeer",
        "metadata": {"name": "route-reflectors"},
        "spec": {"nodeSelector": "all()", "peerSelector": f"{HOSTNAME} in {{ {names} }}"},
    }


def _reflector(node: Node) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "Node",
        "metadata": {"name": node.name},
        "spec": {"bgp": {"routeReflectorClusterID": CLUSTER_ID}},
    }
