"""CoreDNS, the cluster's DNS: spreads its pods over servers, and enlarges it in clusters of 1000 nodes or more.

kubeadm installs CoreDNS with two replicas, which the first master starts before other masters exist. The first master
therefore applies a file to kubeadm's Deployment: a pod that would join another one on the same server stays Pending
until a second server can take it.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.k8s_master import cluster_objects
from components.k8s_master.versions import large
from components.kubelet import KUBERNETES
from components.machine import File, Parts
from contract import SERVER
from files.yaml_writer import template

FILE = f"{KUBERNETES}/dns/coredns.yaml"
KUBEADM_REPLICAS = 2
"""kubeadm's coreDNSReplicas: https://github.com/kubernetes/kubernetes/blob/v1.37.2/cmd/kubeadm/app/phases/addons/dns."""
REPLICAS = 6
"""CoreDNS replicas in large clusters: dns_replicas of source 004, 5.5.8."""
REQUESTS = {"cpu": "70m", "memory": "70Mi"}
LIMITS = {"cpu": "100m", "memory": "512Mi"}
"""Resources of CoreDNS in large clusters: dns_cpu_requests, dns_memory_requests, dns_cpu_limit and dns_memory_limit of
source 004, 5.5.8."""


_CONFIGURE = cluster_objects.apply(
    "configure-dns", "Spreads CoreDNS over servers, and gives it the replicas and resources of a large cluster.", FILE
)


def parts(plan: Plan, master: Node) -> Parts:
    """Returns the first master's file and step for CoreDNS. Other masters have none.

    A small cluster whose masters are all on one server keeps kubeadm's Deployment as it is.
    """
    spread, size = _spread(plan), _size() if large(plan) else {}
    if master != plan.masters[0] or not (spread or size):
        return Parts()
    return Parts((File(FILE, template(_deployment(_replicas(plan), spread | size))),), (_CONFIGURE,))


def _replicas(plan: Plan) -> int:
    return REPLICAS if large(plan) else KUBEADM_REPLICAS


def _deployment(replicas: int, pod: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": "kube-system"},
        "spec": {"replicas": replicas, "template": {"spec": pod}},
    }


def _spread(plan: Plan) -> dict[str, Any]:
    """Returns the part of the pod template that spreads the pods over servers.

    Without minDomains, all pods would start on the first master, as long as no other node can take them. Each rollout
    is spread by itself, because pods of the previous one are about to leave.
    """
    servers = len({master.server for master in plan.masters})
    if servers == 1:
        return {}
    constraint = {
        "topologyKey": SERVER,
        "whenUnsatisfiable": "DoNotSchedule",
        "maxSkew": 1,
        "minDomains": min(servers, _replicas(plan)),
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["pod-template-hash"],
        "labelSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _size() -> dict[str, Any]:
    return {"containers": [{"name": "coredns", "resources": {"requests": REQUESTS, "limits": LIMITS}}]}
