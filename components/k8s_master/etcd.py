"""etcd on the masters, as a systemd unit each (004, 5.5.7): its settings and its unit.

Three members on three masters keep the quorum (004, 5.5.4). The seed's etcd proxies on every node are gone from etcd;
the API servers know all members instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.plan.nodes import Node
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

BACKUP = "/var/lib/etcd-backup"
KEPT = 7
"""Days that a backup is kept. Ours: long enough to notice, short of the disk of a master."""

BACKUP_UNIT = f"""\
[Unit]
Description=Copy of etcd's data, the first action before any update
After=etcd.service

[Service]
Type=oneshot
User=etcd
UMask=0077
StateDirectory=etcd-backup
StateDirectoryMode=0700
Environment=ETCDCTL_ENDPOINTS=https://127.0.0.1:{CLIENT_PORT}
Environment=ETCDCTL_CACERT={PKI}/ca.crt ETCDCTL_CERT={PKI}/server.crt ETCDCTL_KEY={PKI}/server.key
ExecStart=/bin/sh -c 'exec /usr/bin/etcdctl snapshot save {BACKUP}/$(date -u +%%Y%%m%%dT%%H%%M%%SZ).db'
ExecStartPost=/usr/bin/find {BACKUP} -name *.db -mtime +{KEPT} -delete
"""

BACKUP_TIMER = """\
[Unit]
Description=Copy of etcd's data, every hour

[Timer]
OnCalendar=hourly
RandomizedDelaySec=10m
Persistent=true

[Install]
WantedBy=timers.target
"""
"""004, 5.5.10: a backup before an update. Members take turns by chance, so that not all write at once."""


def endpoints(masters: Sequence[Node]) -> list[str]:
    """Where clients reach the members."""
    return [f"https://{master.address}:{CLIENT_PORT}" for master in masters]


def files(master: Node, masters: Sequence[Node]) -> dict[str, str]:
    """Templates of one member's files."""
    return {
        "etcd.service": literal(UNIT),
        "etcd.env": literal(_environment(master, masters)),
        "etcd-backup.service": literal(BACKUP_UNIT),
        "etcd-backup.timer": literal(BACKUP_TIMER),
    }


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
