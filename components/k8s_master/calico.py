"""Calico's BGP resources, as files on every master. Apply them from one master after Calico is installed.

Up to 500 nodes every node peers with every other. At 1000 the full mesh took 'significant time during node startup'
and source 004 asks for route reflectors (004, 5.5.8): the masters, on different servers and started before the workers.
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
"""The first private AS number, Calico's default."""
CLUSTER_ID = "244.0.0.1"


def route_reflectors(plan: Plan) -> tuple[Node, ...]:
    """Returns the route reflectors; none if all nodes peer with each other."""
    return plan.masters if large(plan) else ()


def parts(plan: Plan) -> Parts:
    """Returns Calico's resources. No step applies them yet, because this program does not install Calico."""
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
