"""The proxy to the API servers: nginx in a static pod on every machine except the masters (source 004, 5.5.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import contract
from blueprint.plan.nodes import Node
from components.documents import literal, template
from components.k8s_master.versions import NGINX_IMAGE
from components.kubelet import KUBERNETES
from components.machine import File, Parts
from contract import API_PORT

TIMEOUT = "10m"
"""nginx's proxy_timeout. With nginx's default, watches were interrupted so often that the API servers used ten times
the CPU (source 004, 5.5.8)."""

DIRECTORY = f"{KUBERNETES}/api-proxy"

CONFIGURATION = """\
worker_processes 1;
error_log stderr notice;

events {{
  worker_connections 1024;
}}

stream {{
  upstream api {{
    least_conn;
{servers}
  }}

  server {{
    listen 127.0.0.1:{port};
    proxy_pass api;
    proxy_connect_timeout 1s;
    proxy_timeout {timeout};
  }}
}}
"""


def parts(masters: Sequence[Node], digests: Mapping[str, str]) -> Parts:
    """Returns the API proxy's nginx.conf and static pod.

    `digests`: image digests that the stack file pins, by image.
    """
    servers = "\n".join(f"    server {master.address}:{API_PORT} max_fails=2 fail_timeout=3s;" for master in masters)
    configuration = CONFIGURATION.format(servers=servers, port=API_PORT, timeout=TIMEOUT)
    digest = hashlib.sha256(configuration.encode()).hexdigest()[:16]
    return Parts(
        files=(
            File(f"{DIRECTORY}/nginx.conf", literal(configuration)),
            File(f"{KUBERNETES}/manifests/api-proxy.yaml", template(_pod(digest, _image(digests)))),
        )
    )


def _image(digests: Mapping[str, str]) -> str:
    return f"{NGINX_IMAGE}@{digests['nginx']}" if "nginx" in digests else NGINX_IMAGE


def _pod(digest: str, image: str) -> dict[str, object]:
    """Returns the manifest of the API proxy's static pod.

    An annotation with the configuration's digest changes the manifest when the masters change, so that kubelet restarts
    the pod.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "api-proxy",
            "namespace": "kube-system",
            "labels": {"app.kubernetes.io/name": "api-proxy", "app.kubernetes.io/managed-by": "quorate"},
            "annotations": {contract.CONFIG: digest},
        },
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "containers": [
                {
                    "name": "nginx",
                    "image": image,
                    "command": ["nginx", "-c", "/etc/api-proxy/nginx.conf", "-g", "daemon off;"],
                    "resources": {"requests": {"cpu": "25m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                    "livenessProbe": {"tcpSocket": {"host": "127.0.0.1", "port": API_PORT}},
                    "volumeMounts": [{"name": "configuration", "mountPath": "/etc/api-proxy", "readOnly": True}],
                }
            ],
            "volumes": [{"name": "configuration", "hostPath": {"path": DIRECTORY, "type": "Directory"}}],
        },
    }
