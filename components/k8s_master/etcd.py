"""etcd on the masters: each member's user, settings, systemd unit and backups (source 004, 5.5.7).

Three members on three masters keep the quorum if one fails (source 004, 5.5.4). Source 004 runs etcd's proxy mode on
every node. etcd no longer has this mode, so the API servers are configured with the addresses of all members.
"""

from __future__ import annotations

from collections.abc import Sequence

import contract
from blueprint.plan.nodes import Node
from components.documents import literal
from components.k8s_master import pki
from components.k8s_master.pki import Pki
from components.machine import File, Parts, Quorum, Step, Unit

CLIENT_PORT, PEER_PORT = 2379, 2380
TOKEN = "quorate"  # noqa: S105 - names the cluster, guards nothing
CERTIFICATES = tuple(f"{pki.ETCD}/{name}" for name in ("ca.crt", "server.crt", "server.key", "peer.crt", "peer.key"))
RUNTIME = "/run/etcd"
"""Directory with copies of the certificates for the user etcd. The files themselves are root's, because files are
written before the user exists."""
NAME = "etcd"
UNITS = "/etc/systemd/system"

UNIT = f"""\
[Unit]
Description=etcd, the Kubernetes API's store
Documentation=https://etcd.io/docs/
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
User=etcd
StateDirectory=etcd
StateDirectoryMode=0700
RuntimeDirectory=etcd
RuntimeDirectoryMode=0700
EnvironmentFile=/etc/etcd/etcd.env
ExecStartPre=+/usr/bin/install --owner=etcd --mode=0400 --target-directory={RUNTIME} {" ".join(CERTIFICATES)}
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

_STARTED = """\
systemctl is-enabled --quiet etcd.service
case $(systemctl is-active etcd.service) in
active | activating) ;;
*) exit 1 ;;
esac"""
"""Shell commands that succeed if etcd's unit is enabled and started. The unit stays `activating` until a majority of
the members runs, because etcd notifies systemd only when it can serve."""

BACKUP = "/var/lib/etcd-backup"
MOST_TRIES = 20
"""Health checks, with a pause of 1 s after each, before a machine gives up waiting for etcd's quorum. A check takes up
to 5 s, so the wait ends after 2 minutes at most. Project figure: etcd's default election timeout is 1 s."""
AWAIT_QUORUM = "await-etcd-quorum"
KEPT = 7
"""Days that a backup is kept. Project figure: long enough to notice a loss, short enough for a master's disk."""

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
Environment=ETCDCTL_CACERT={RUNTIME}/ca.crt ETCDCTL_CERT={RUNTIME}/server.crt ETCDCTL_KEY={RUNTIME}/server.key
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
"""Timer for etcd's backups: source 004, 5.5.10, requires a backup before an update. A random delay keeps the members
from writing their backups at the same time."""


def endpoints(masters: Sequence[Node]) -> list[str]:
    """Returns the client URLs of etcd's members, one on each master."""
    return [f"https://{master.address}:{CLIENT_PORT}" for master in masters]


def parts(master: Node, masters: Sequence[Node], certificates: Pki) -> Parts:
    """Returns the files and steps of the etcd member on `master`."""
    member = quorum(master, masters)
    unit = Unit("etcd.service", disrupts=member)
    return Parts(
        files=(
            *certificates.etcd_files(master, unit),
            File("/etc/sysusers.d/etcd.conf", literal('u etcd - "etcd" /var/lib/etcd\n')),
            File(f"{UNITS}/etcd.service", literal(UNIT), restarts=unit),
            File("/etc/etcd/etcd.env", literal(_environment(master, masters)), restarts=unit),
            File(f"{UNITS}/etcd-backup.service", literal(BACKUP_UNIT)),
            File(f"{UNITS}/etcd-backup.timer", literal(BACKUP_TIMER), restarts=Unit("etcd-backup.timer")),
        ),
        steps=(
            Step(
                name="create-etcd-user",
                does="Creates the user etcd.",
                check="getent passwd etcd",
                apply='systemd-sysusers "$ROOT/etc/sysusers.d/etcd.conf"',
            ),
            Step(
                name="start-etcd",
                does="Starts this machine's member, without waiting for the others.",
                check=_STARTED,
                apply=_start(master, masters),
                after=("create-etcd-user",),
            ),
            Step(
                name=AWAIT_QUORUM,
                does="Waits until etcd answers, for which a majority of its members must have been started.",
                check=member.is_back,
                apply=_await(member),
                after=("start-etcd",),
                awaits_others=True,
            ),
            Step(
                name="start-etcd-backup",
                does="Starts the hourly copy of etcd's data.",
                check="systemctl is-active --quiet etcd-backup.timer",
                apply="systemctl enable --now --quiet etcd-backup.timer",
                after=("start-etcd",),
            ),
        ),
    )


def quorum(master: Node, masters: Sequence[Node]) -> Quorum:
    """Returns etcd's quorum with the two checks that `master` runs before and after its member stops.

    Before: whether enough other members are healthy. After: whether the own member is healthy.
    """
    others = [each for each in masters if each.name != master.name]
    needed = len(masters) // 2 + 1
    asked = "\n".join(f"ask https://{each.address}:{CLIENT_PORT}" for each in others)
    may_stop = f"""\
healthy=0
ask() {{
  if {_health('"$1"')}; then
    healthy=$((healthy + 1))
  fi
}}
{asked}
if [ "$healthy" -lt {needed} ]; then
  echo "etcd needs {needed} of {len(masters)} members; without this one $healthy are healthy"
  exit 1
fi"""
    return Quorum(
        NAME,
        may_stop=may_stop if others else "echo 'etcd has a single member; while it is stopped there is no API'",
        is_back=_health(f"https://{master.address}:{CLIENT_PORT}"),
    )


def _health(endpoint: str) -> str:
    return f"{_etcdctl(endpoint, '5s')} endpoint health >/dev/null 2>&1"


def _etcdctl(endpoint: str, timeout: str) -> str:
    certificates = f"--cacert={pki.ETCD}/ca.crt --cert={pki.ETCD}/server.crt --key={pki.ETCD}/server.key"
    return f"etcdctl {certificates} --endpoints={endpoint} --command-timeout={timeout}"


def _start(master: Node, masters: Sequence[Node]) -> str:
    """Returns shell commands that start a member, unless it is new and the others are a cluster without it.

    Several new members could otherwise be a majority of the new list, and form a second cluster.
    """
    asked = "\n".join(f"  ask https://{each.address}:{CLIENT_PORT}" for each in masters if each.name != master.name)
    first = f"""\
ask() {{
  if members=$({_etcdctl('"$1"', "2s")} member list 2>/dev/null); then
    case $members in
    *https://{master.address}:{PEER_PORT}*) ;;
    *)
      echo "etcd runs without this machine, and apply does not add members to it; the members are:" >&2
      echo "$members" >&2
      exit 1
      ;;
    esac
  fi
}}
if [ ! -d "$ROOT/var/lib/etcd/member" ]; then
{asked}
fi
"""
    return f"{first if asked else ''}systemctl enable --quiet etcd.service\nsystemctl start --no-block etcd.service"


def _await(member: Quorum) -> str:
    return f"""\
tries=0
until {member.is_back}; do
  tries=$((tries + 1))
  if [ "$tries" -ge {MOST_TRIES} ]; then
    echo "etcd has no quorum yet; run apply on the other masters, then again here" >&2
    exit 1
  fi
  sleep 1
done"""


def _environment(master: Node, masters: Sequence[Node]) -> str:
    peers = ",".join(f"{member.name}=https://{member.address}:{PEER_PORT}" for member in masters)
    settings = {
        "NAME": master.name,
        "DATA_DIR": "/var/lib/etcd",
        "LISTEN_CLIENT_URLS": f"https://{master.address}:{CLIENT_PORT},https://127.0.0.1:{CLIENT_PORT}",
        "ADVERTISE_CLIENT_URLS": f"https://{master.address}:{CLIENT_PORT}",
        "LISTEN_PEER_URLS": f"https://{master.address}:{PEER_PORT}",
        "LISTEN_METRICS_URLS": f"http://{master.address}:{contract.ETCD_METRICS_PORT}",
        "INITIAL_ADVERTISE_PEER_URLS": f"https://{master.address}:{PEER_PORT}",
        "INITIAL_CLUSTER": peers,
        "INITIAL_CLUSTER_TOKEN": TOKEN,
        "INITIAL_CLUSTER_STATE": "new",
        "CERT_FILE": f"{RUNTIME}/server.crt",
        "KEY_FILE": f"{RUNTIME}/server.key",
        "TRUSTED_CA_FILE": f"{RUNTIME}/ca.crt",
        "CLIENT_CERT_AUTH": "true",
        "PEER_CERT_FILE": f"{RUNTIME}/peer.crt",
        "PEER_KEY_FILE": f"{RUNTIME}/peer.key",
        "PEER_TRUSTED_CA_FILE": f"{RUNTIME}/ca.crt",
        "PEER_CLIENT_CERT_AUTH": "true",
    }
    return "".join(f"ETCD_{key}={value}\n" for key, value in settings.items())
