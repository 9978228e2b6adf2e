"""How soon the cluster notices that a node is down, so that the Services send no more requests to the node's pods.

kubelet renews its node's Lease four times in `LEASE`. The controller manager marks the node and its pods NotReady after
`GRACE` without a renewal. A kubelet, scheduler or controller manager whose API server is down must notice that, and
connect to another one, before `GRACE` ends (https://kubernetes.io/docs/reference/command-line-tools-reference/
kube-controller-manager/). They notice it by pings over HTTP/2: after `IDLE` without data, and `PING` without an answer.

From 1000 nodes on, Kubernetes' defaults stay, because every renewal is a write to etcd.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.plan import Plan
from components.k8s_master.versions import large
from components.machine import File, Parts, Unit
from files.yaml_writer import literal

LEASE = 20
"""Seconds that a node's Lease lasts; kubelet renews it after a quarter of that. Kubernetes' default: 40. Project
figure."""
GRACE = 25
"""Seconds without a renewal until a node is NotReady: five renewals. Kubernetes' default: 50. Project figure."""
IDLE = 5
"""Seconds without data until a client of the API server sends a ping. Kubernetes' default: 30. Project figure."""
PING = 5
"""Seconds until a connection without an answer to the ping is closed. Kubernetes' default: 15. Project figure."""

VARIABLES = {"HTTP2_READ_IDLE_TIMEOUT_SECONDS": str(IDLE), "HTTP2_PING_TIMEOUT_SECONDS": str(PING)}
"""Environment variables that Kubernetes' programs read."""
_DROP_IN = "/etc/systemd/system/kubelet.service.d/20-quorate.conf"


def parts(plan: Plan) -> Parts:
    """Returns the file with kubelet's environment variables."""
    if large(plan):
        return Parts()
    lines = [f"Environment={name}={value}" for name, value in VARIABLES.items()]
    text = "\n".join(("[Service]", *lines, ""))
    return Parts((File(_DROP_IN, literal(text), restarts=Unit("kubelet.service")),))


def kubelet_configuration(plan: Plan) -> dict[str, Any]:
    """Returns the part of KubeletConfiguration for all nodes."""
    return {} if large(plan) else {"nodeLeaseDurationSeconds": LEASE}


def environment(plan: Plan) -> list[dict[str, str]]:
    """Returns the environment variables of scheduler and controller manager, as kubeadm's extraEnvs."""
    return [] if large(plan) else [{"name": name, "value": value} for name, value in VARIABLES.items()]


def controller_manager(plan: Plan) -> dict[str, str]:
    """Returns the arguments of the controller manager."""
    return {} if large(plan) else {"node-monitor-grace-period": f"{GRACE}s"}
