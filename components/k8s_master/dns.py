"""CoreDNS, the cluster's DNS: spreads its pods over the masters, and enlarges it in clusters of 1000 nodes or more.

kubeadm installs CoreDNS with two replicas. In clusters of 1000 nodes or more, a file with the changed replicas and
resources is applied to kubeadm's Deployment. Smaller clusters keep the Deployment as it is.
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
"""CoreDNS replicas in large clusters: dns_replicas of source 004, 5.5.8."""
REQUESTS = {"cpu": "70m", "memory": "70Mi"}
LIMITS = {"cpu": "100m", "memory": "512Mi"}
"""Resources of CoreDNS in large clusters: dns_cpu_requests, dns_memory_requests, dns_cpu_limit and dns_memory_limit of
source 004, 5.5.8."""


_KUBECTL = f'kubectl --kubeconfig "$ROOT{KUBERNETES}/admin.conf"'

_SPREAD = Step(
    name="spread-dns",
    does="Spreads CoreDNS over the masters: kubeadm init starts all of it on the first one.",
    check=f"""\
nodes=$({_KUBECTL} -n kube-system get pods -l k8s-app=kube-dns \\
  -o jsonpath='{{range .items[*]}}{{.spec.nodeName}}{{"\\n"}}{{end}}' | sort -u | wc -l)
[ "$nodes" -gt 1 ]""",
    # CoreDNS must not restart before the other masters are Ready: all its pods would run on the first master again.
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
    """Returns a master's files and steps for CoreDNS.

    In a large cluster, the first master applies the larger size. With several masters, the last one spreads the pods.
    """
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
