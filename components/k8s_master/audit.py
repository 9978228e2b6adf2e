"""The audit log of the API servers: who has changed what, and who has read or changed Secrets.

Each API server writes its own log, /var/log/kubernetes/audit.log on its master.
"""

from __future__ import annotations

from typing import Any

from components.kubelet import KUBERNETES
from components.machine import File
from files.yaml_writer import template

_PATH = f"{KUBERNETES}/audit-policy.yaml"
_LOGS = "/var/log/kubernetes"

ARGUMENTS = {
    "audit-policy-file": _PATH,
    "audit-log-path": f"{_LOGS}/audit.log",
    "audit-log-maxage": "30",
    "audit-log-maxbackup": "10",
    "audit-log-maxsize": "100",
}
"""Arguments of the API server: 30 days, 10 old files, 100 MB each (CIS Kubernetes Benchmark 1.12, 1.2.17 to 1.2.19)."""

VOLUMES = (
    {"name": "audit-policy", "hostPath": _PATH, "mountPath": _PATH, "readOnly": True, "pathType": "File"},
    {"name": "audit-log", "hostPath": _LOGS, "mountPath": _LOGS, "pathType": "DirectoryOrCreate"},
)
"""Host paths that kubeadm mounts into the API server's pod."""

_RULES: tuple[dict[str, Any], ...] = (
    # Every node and leader renews a Lease every few seconds.
    {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
    {"level": "None", "resources": [{"group": group, "resources": ["events"]} for group in ("", "events.k8s.io")]},
    {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
    {"level": "None", "verbs": ["get", "list", "watch"]},
    {"level": "Metadata"},
)
"""The first rule that matches a request decides. Metadata is who, when, what and the result, without the object."""

POLICY = File(
    _PATH,
    template(
        {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": list(_RULES)}
    ),
)
