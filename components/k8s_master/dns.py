"""CoreDNS at the size of 1000 nodes, as a file of the first master: kubeadm's own is for a small cluster.

To be applied over what kubeadm makes (`kubectl apply --server-side --force-conflicts`): it names what it changes and
nothing else. Below that size kubeadm's two replicas stay.
"""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import template
from components.k8s_master.versions import large

REPLICAS = 6
"""004, 5.5.8: dns_replicas."""
REQUESTS = {"cpu": "70m", "memory": "70Mi"}
LIMITS = {"cpu": "100m", "memory": "512Mi"}
"""004, 5.5.8: dns_cpu_requests and dns_memory_requests, dns_cpu_limit and dns_memory_limit."""


def files(plan: Plan, master: Node) -> dict[str, str]:
    """The template of CoreDNS' own numbers, on the first master of a large cluster."""
    if not large(plan) or master != plan.masters[0]:
        return {}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": "kube-system"},
        "spec": {
            "replicas": REPLICAS,
            "template": {
                "spec": {"containers": [{"name": "coredns", "resources": {"requests": REQUESTS, "limits": LIMITS}}]}
            },
        },
    }
    return {"dns/coredns.yaml": template(deployment)}
