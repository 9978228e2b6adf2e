"""etcd on the masters, as a systemd unit each (004, 5.5.7): its settings and its unit.

Three members on three masters keep the quorum (004, 5.5.4). The seed's etcd proxies on every node are gone from etcd;
the API servers know all members instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.nodes import Node
from components.documents import literal

CLIENT_PORT, PEER_PORT = 2379, 2380
TOKEN = "quorate"  # noqa: S105 - names the cluster, guards nothing
PKI = "/etc/etcd/pki"

UNIT = """\
[Unit]
Description=etcd, the Kubernetes API's store
Documentation=https://etcd.io/docs/
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
User=etcd
EnvironmentFile=/etc/etcd/etcd.env
ExecStart=/usr/bin/etcd
Restart=always
RestartSec=5s
LimitNOFILE=65536
Nice=-10
IOSchedulingClass=best-effort
IOSchedulingPriority=0

[Install]
WantedBy=multi-user.target
"""


def endpoints(masters: Sequence[Node]) -> list[str]:
    """Where clients reach the members."""
    return [f"https://{master.address}:{CLIENT_PORT}" for master in masters]


def files(master: Node, masters: Sequence[Node]) -> dict[str, str]:
    """Templates of one member's files."""
    return {"etcd.service": literal(UNIT), "etcd.env": literal(_environment(master, masters))}


def _environment(master: Node, masters: Sequence[Node]) -> str:
    peers = ",".join(f"{member.name}=https://{member.address}:{PEER_PORT}" for member in masters)
    settings = {
        "NAME": master.name,
        "DATA_DIR": "/var/lib/etcd",
        "LISTEN_CLIENT_URLS": f"https://{master.address}:{CLIENT_PORT},https://127.0.0.1:{CLIENT_PORT}",
        "ADVERTISE_CLIENT_URLS": f"https://{master.address}:{CLIENT_PORT}",
        "LISTEN_PEER_URLS": f"https://{master.address}:{PEER_PORT}",
        "INITIAL_ADVERTISE_PEER_URLS": f"https://{master.address}:{PEER_PORT}",
        "INITIAL_CLUSTER": peers,
        "INITIAL_CLUSTER_TOKEN": TOKEN,
        "INITIAL_CLUSTER_STATE": "new",
        "CERT_FILE": f"{PKI}/server.crt",
        "KEY_FILE": f"{PKI}/server.key",
        "TRUSTED_CA_FILE": f"{PKI}/ca.crt",
        "CLIENT_CERT_AUTH": "true",
        "PEER_CERT_FILE": f"{PKI}/peer.crt",
        "PEER_KEY_FILE": f"{PKI}/peer.key",
        "PEER_TRUSTED_CA_FILE": f"{PKI}/ca.crt",
        "PEER_CLIENT_CERT_AUTH": "true",
    }
    return "".join(f"ETCD_{key}={value}\n" for key, value in settings.items())
