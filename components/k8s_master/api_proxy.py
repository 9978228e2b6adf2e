"""The proxy to the API servers: nginx in a static pod on every machine except the masters (source 004, 5.5.5)."""

from __future__ import annotations

from collections.abc import Sequence

from blueprint import node_software
from blueprint.plan.nodes import Node
from blueprint.stackfile.api_servers import ApiProxy
from blueprint.stackfile.image_settings import Images
from components.kubelet import KUBERNETES
from components.machine import File, Parts, Step
from contract import API_PORT
from files.yaml_writer import literal, template

DIRECTORY = f"{KUBERNETES}/api-proxy"
FILE = f"{DIRECTORY}/nginx.conf"
COMMAND = ("nginx", "-c", "/etc/api-proxy/nginx.conf", "-g", "daemon off;")
LOADED = "/var/lib/quorate-apply/api-proxy"
"""Digest of the configuration that nginx was last told to load."""

CONFIGURATION = """\
worker_processes 1;
worker_shutdown_timeout 1m;
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
    proxy_connect_timeout {proxy_connect_timeout};
    proxy_timeout {proxy_timeout};
  }}
}}
"""


def parts(masters: Sequence[Node], images: Images, settings: ApiProxy) -> Parts:
    """Returns the API proxy's nginx.conf and static pod, and the step that reloads it."""
    times = {time.option: time.value for time in settings.times()}
    tries = f"max_fails=2 fail_timeout={times['fail_timeout']}"
    servers = "\n".join(f"    server {master.address}:{API_PORT} {tries};" for master in masters)
    configuration = CONFIGURATION.format(servers=servers, port=API_PORT, **times)
    return Parts(
        files=(
            File(FILE, literal(configuration)),
            File(f"{KUBERNETES}/manifests/api-proxy.yaml", template(_pod(images.of_nodes(node_software.NGINX)))),
        ),
        steps=(RELOAD,),
    )


RELOAD = Step(
    name="reload-api-proxy",
    # A restart by kubelet would leave the machine without an API server for 12 s and more: half of the time after which
    # its node is not Ready. nginx keeps its connections for a minute (worker_shutdown_timeout).
    does="Lets the API proxy load a changed list of masters, without a restart.",
    check=f'sha256sum <"$ROOT{FILE}" | cmp -s - "$ROOT{LOADED}"',
    apply=f"""\
pkill -HUP -f "^nginx: master process {" ".join(COMMAND[:3])}" || :  # none runs before the machine has joined
sha256sum <"$ROOT{FILE}" >"$ROOT{LOADED}\"""",
)


def _pod(image: str) -> dict[str, object]:
    """Returns the manifest of the API proxy's static pod, which does not change with the masters."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "api-proxy",
            "namespace": "kube-system",
            "labels": {"app.kubernetes.io/name": "api-proxy", "app.kubernetes.io/managed-by": "quorate"},
        },
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            # nginx waits for open connections, which do not end, and accepts no new ones meanwhile.
            "terminationGracePeriodSeconds": 2,
            "containers": [
                {
                    "name": "nginx",
                    "image": image,
                    "command": list(COMMAND),
                    "resources": {"requests": {"cpu": "25m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                    "livenessProbe": {"tcpSocket": {"host": "127.0.0.1", "port": API_PORT}},
                    "volumeMounts": [{"name": "configuration", "mountPath": "/etc/api-proxy", "readOnly": True}],
                }
            ],
            "volumes": [{"name": "configuration", "hostPath": {"path": DIRECTORY, "type": "Directory"}}],
        },
    }
