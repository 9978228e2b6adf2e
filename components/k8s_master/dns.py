"""CoreDNS on the masters: spread over the masters, and with more replicas and resources from 1000 nodes.

kubeadm's Deployment suits a small cluster. From 1000 nodes, a file with only the changed fields is applied over it.
Smaller clusters keep kubeadm's two replicas.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.documents import template
from components.k8s_master.versions import large
from components.kubelet import KUBERNETES
from components.machine import File, Parts, Step

FILE = f"{KUBERNETES}/dns/coredns.yaml"
REPLICAS = 6
"""004, 5.5.8: dns_replicas."""
REQUESTS = {"cpu": "70m", "memory": "70Mi"}
LIMITS = {"cpu": "100m", "memory": "512Mi"}
"""004, 5.5.8: dns_cpu_requests and dns_memory_requests, dns_cpu_limit and dns_memory_limit."""


_KUBECTL = f'kubectl --kubeconfig "$ROOT{KUBERNETES}/admin.conf"'

_SPREAD = Step(
    name="spread-dns",
    does="Spreads CoreDNS over the masters: kubeadm init starts all of it on the first one.",
    check=f"""\
nodes=$({_KUBECTL} -n kube-system get pods -l k8s-app=kube-dns \\
  -o jsonpath='{{range .items[*]}}{{.spec.nodeName}}{{"\\n"}}{{end}}' | sort -u | wc -l)
[ "$nodes" -gt 1 ]""",
    # The pods must not start before the other masters are Ready: all of them would be on the first master again.
    apply=f"""\
{_KUBECTL} wait node -l node-role.kubernetes.io/control-plane --for=condition=Ready --timeout=180s
{_KUBECTL} -n kube-system rollout restart deployment coredns
{_KUBECTL} -n kube-system rollout status deployment coredns --timeout=180s""",
    after=("join",),
)

_SIZE = Step(
    name="size-dns",
    does="Gives CoreDNS the replicas and resources of a large cluster.",
    check=f'{_KUBECTL} diff --server-side --force-conflicts -f "$ROOT{FILE}"',
    apply=f'{_KUBECTL} apply --server-side --force-conflicts -f "$ROOT{FILE}"',
    after=("initialise",),
)


def parts(plan: Plan, master: Node) -> Parts:
    """Returns what a master does for CoreDNS: in a large cluster the first resizes it, the last spreads it."""
    first, last = plan.masters[0], plan.masters[-1]
    if master == first:
        return Parts((File(FILE, template(_deployment())),), (_SIZE,)) if large(plan) else Parts()
    return Parts(steps=(_SPREAD,)) if master == last else Parts()


def _deployment() -> dict[str, Any]:
    return {
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
