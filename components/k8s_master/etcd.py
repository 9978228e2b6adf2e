"""etcd: each member's user, settings, systemd unit, membership, backups, defragmentation (004, 5.5.7).

Three members on three machines keep the quorum if one fails (source 004, 5.5.4). Source 004 runs etcd's proxy mode on
every node. etcd no longer has this mode, so the API servers are configured with the addresses of all members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import contract
from blueprint.plan.nodes import Node
from components.k8s_master import pki
from components.k8s_master.pki import Pki
from components.machine import File, MemberQuorum, Parts, Step, Unit
from files.yaml_writer import literal
from openstack import scripts

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
EnvironmentFile=/etc/etcd/member.env
EnvironmentFile=-/etc/etcd/start.env
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

MEMBERS = "/usr/local/lib/quorate/members"
"""The script that asks and changes the cluster's members. Steps, and the checks of the quorum, call it."""

COPIES = "/usr/local/lib/quorate/etcd-backup"
"""The script that compares copies of etcd's data: new ones with the member, and the newest with what it was."""

BACKUP = "/var/lib/etcd-backup"
JOIN = "join-etcd"
TIDY = "remove-lost-member"
QUOTA = 8 * 1024**3
"""Bytes of a member's database at which etcd refuses writes and raises an alarm: the most that etcd suggests
(https://etcd.io/docs/v3.6/dev-guide/limit/). etcd's default is 2 GiB."""
KEPT = 7
"""Days that a backup is kept. Project figure: long enough to notice a loss, short enough for a machine's disk."""

_NEW, _RESTORED = f"{BACKUP}/new", f"{BACKUP}/restored"

IN_BACKUPS = """\
Type=oneshot
User=etcd
UMask=0077
StateDirectory=etcd-backup
StateDirectoryMode=0700
"""
"""A service that runs once as the user etcd, in the directory of its copies."""
BACKUP_UNIT = f"""\
[Unit]
Description=Copy of etcd's data that was restored and compared, the first action before any update
After=etcd.service

[Service]
{IN_BACKUPS}Environment=ETCDCTL_ENDPOINTS=https://127.0.0.1:{CLIENT_PORT}
Environment=ETCDCTL_CACERT={RUNTIME}/ca.crt ETCDCTL_CERT={RUNTIME}/server.crt ETCDCTL_KEY={RUNTIME}/server.key
ExecStartPre=/bin/rm -rf {_NEW} {_RESTORED}
ExecStart=/usr/bin/etcdctl snapshot save {_NEW}
ExecStart=/usr/bin/etcdutl snapshot restore {_NEW} --data-dir={_RESTORED}
ExecStart={COPIES} keep
ExecStopPost=/bin/rm -rf {_NEW} {_RESTORED}
ExecStopPost=/usr/bin/find {BACKUP} -name *.db -mtime +{KEPT} -delete
ExecStopPost=/usr/bin/find {BACKUP} -name *.content -mtime +{KEPT} -delete
"""
"""A copy gets its name only after it was restored, to a directory that is deleted again, and had the member's content
as far as etcdutl can hash it (etcd_backup.sh). Otherwise the unit fails."""

TEST_UNIT = f"""\
[Unit]
Description=Test of the newest copy of etcd's data: a scratch member without a network has its content

[Service]
{IN_BACKUPS}PrivateNetwork=yes
Nice=10
ExecStart={COPIES} test
"""

TEST_TIMER = """\
[Unit]
Description=Test of the newest copy of etcd's data, every day

[Timer]
OnCalendar=daily
RandomizedDelaySec=6h
Persistent=true

[Install]
WantedBy=timers.target
"""
"""A random delay keeps the members' machines from testing at the same time."""

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

DEFRAGMENTATION_UNIT = f"""\
[Unit]
Description=Defragmentation of etcd's database
After=etcd.service

[Service]
Type=oneshot
ExecStart={MEMBERS} defragment
"""

DEFRAGMENTATION_TIMER = """\
[Unit]
Description=Defragmentation of etcd's database, every day

[Timer]
OnCalendar=daily
RandomizedDelaySec=6h

[Install]
WantedBy=timers.target
"""
"""A member does not answer while its database is defragmented. A random delay keeps two from starting together, and
`defragment` asks the others first."""


def endpoints(members: Sequence[Node]) -> list[str]:
    """Returns the client URLs of etcd's members. `members`: their machines."""
    return [f"https://{member.address}:{CLIENT_PORT}" for member in members]


def parts(machine: Node, members: Sequence[Node], certificates: Pki) -> Parts:
    """Returns the files and steps of the etcd member on `machine`. `members`: the machines of all members."""
    unit = Unit("etcd.service", disrupts=QUORUM)
    return Parts(
        files=(
            *certificates.etcd_files(machine, unit),
            File("/etc/sysusers.d/etcd.conf", literal('u etcd - "etcd" /var/lib/etcd\n')),
            File(f"{UNITS}/etcd.service", literal(UNIT), restarts=unit),
            File("/etc/etcd/etcd.env", literal(_environment(_settings(machine))), restarts=unit),
            # Read by a member without data only. So a change of the members restarts none.
            File("/etc/etcd/member.env", literal(_environment(_membership(machine, members)))),
            File(MEMBERS, literal(_script("etcd_members.sh")), mode=0o755),
            File(f"{UNITS}/etcd-backup.service", literal(BACKUP_UNIT)),
            File(f"{UNITS}/etcd-backup.timer", literal(BACKUP_TIMER), restarts=Unit("etcd-backup.timer")),
            File(COPIES, literal(scripts.text("etcd_backup.sh")), mode=0o755),
            File(f"{UNITS}/etcd-backup-test.service", literal(TEST_UNIT)),
            File(f"{UNITS}/etcd-backup-test.timer", literal(TEST_TIMER), restarts=Unit("etcd-backup-test.timer")),
            File(f"{UNITS}/etcd-defragmentation.service", literal(DEFRAGMENTATION_UNIT)),
            File(
                f"{UNITS}/etcd-defragmentation.timer",
                literal(DEFRAGMENTATION_TIMER),
                restarts=Unit("etcd-defragmentation.timer"),
            ),
        ),
        steps=_STEPS,
    )


def _run(command: str) -> str:
    return f'sh "$ROOT{MEMBERS}" {command}'


QUORUM = MemberQuorum(NAME, may_stop=_run("may-stop"), is_back=_run("votes"))
"""etcd's quorum. `may_stop` asks the members of the cluster's own list, which may differ from those of the stack."""

_STEPS = (
    Step(
        name="create-etcd-user",
        does="Creates the user etcd.",
        check="getent passwd etcd",
        apply='systemd-sysusers "$ROOT/etc/sysusers.d/etcd.conf"',
    ),
    Step(
        name="require-etcd-version",
        does="Stops if this machine's etcd is of a version that may neither run nor join.",
        check=_run("has-version"),
        apply=_run("has-version"),
    ),
    Step(
        name="start-etcd",
        does="Starts this machine's member of a new cluster, without waiting for the others.",
        check=_run("is-started"),
        apply=_run("start"),
        leave=f'[ ! -f "$ROOT{MEMBERS}" ] || {_run("leave")}',
        after=("create-etcd-user", "require-etcd-version"),
    ),
    Step(
        name=JOIN,
        does="Waits until a majority of a new cluster runs, or makes this machine a member of the running cluster.",
        check=_run("votes"),
        apply=_run("join"),
        after=("start-etcd",),
        awaits_others=True,
    ),
    Step(
        name=TIDY,
        does="Removes a member that left the stack and does not answer.",
        check=_run("is-tidy"),
        apply=_run("tidy"),
        after=(JOIN,),
    ),
    *(
        Step(
            name=f"start-{unit}",
            does=does,
            check=f"systemctl is-active --quiet {unit}.timer",
            apply=f"systemctl enable --now --quiet {unit}.timer",
            leave=f"systemctl disable --now --quiet {unit}.timer || :",
            after=("start-etcd",),
        )
        for unit, does in (
            ("etcd-backup", "Starts the hourly copy of etcd's data."),
            ("etcd-backup-test", "Starts the daily test of the newest copy of etcd's data."),
            ("etcd-defragmentation", "Starts the daily defragmentation of etcd's database."),
        )
    ),
)


@cache
def _script(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _settings(machine: Node) -> dict[str, str]:
    return {
        "DATA_DIR": "/var/lib/etcd",
        "LISTEN_CLIENT_URLS": f"https://{machine.address}:{CLIENT_PORT},https://127.0.0.1:{CLIENT_PORT}",
        "ADVERTISE_CLIENT_URLS": f"https://{machine.address}:{CLIENT_PORT}",
        "LISTEN_PEER_URLS": f"https://{machine.address}:{PEER_PORT}",
        "QUOTA_BACKEND_BYTES": str(QUOTA),
        # An entry is acknowledged when it is on the disks of a majority: etcd's default, set explicitly.
        "UNSAFE_NO_FSYNC": "false",
        "LISTEN_METRICS_URLS": f"http://{machine.address}:{contract.ETCD_METRICS_PORT}",
        "CERT_FILE": f"{RUNTIME}/server.crt",
        "KEY_FILE": f"{RUNTIME}/server.key",
        "TRUSTED_CA_FILE": f"{RUNTIME}/ca.crt",
        "CLIENT_CERT_AUTH": "true",
        "PEER_CERT_FILE": f"{RUNTIME}/peer.crt",
        "PEER_KEY_FILE": f"{RUNTIME}/peer.key",
        "PEER_TRUSTED_CA_FILE": f"{RUNTIME}/ca.crt",
        "PEER_CLIENT_CERT_AUTH": "true",
    }


def _membership(machine: Node, members: Sequence[Node]) -> dict[str, str]:
    """Returns the settings of a member without data. The state is `existing`, with which it starts no cluster.

    etcd_members.sh writes the state `new`, or the list of present members, into start.env, which is read after this
    file.
    """
    return {
        "NAME": machine.name,
        "INITIAL_ADVERTISE_PEER_URLS": peer_url(machine),
        "INITIAL_CLUSTER": ",".join(f"{member.name}={peer_url(member)}" for member in members),
        "INITIAL_CLUSTER_TOKEN": TOKEN,
        "INITIAL_CLUSTER_STATE": "existing",
    }


def peer_url(machine: Node) -> str:
    """Returns the URL at which a machine's member is reached by other members."""
    return f"https://{machine.address}:{PEER_PORT}"


def _environment(settings: Mapping[str, str]) -> str:
    return "".join(f"ETCD_{key}={value}\n" for key, value in settings.items())
