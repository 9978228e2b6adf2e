"""Ceph: monitors with their managers, and OSDs, from Ceph's own image; Kolla ships none.

Monitors run on different physical nodes, and nothing else runs beside OSDs (004, 5.4.14). Monitors use their nodes'
networks: a monitor is known by its address, which must stay the same when its pod is made again (ADR 19). An OSD pod
runs one daemon for every prepared disk of its node.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.openstack import ceph_client, scripts
from components.openstack.ceph_client import ADMINISTRATOR, CONFIGURATION
from components.openstack.config import cephx
from components.openstack.config.layers import Layer, Level, Secret, TextFile, WrittenFile
from components.openstack.config.wiring import Wiring
from components.openstack.definition import (
    Claim,
    Container,
    Exec,
    File,
    HostPath,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

FIRST_MEMBERS = 3
"""Monitors that a new cluster waits for. The list does not grow with the cluster: later ones join the quorum."""
COPIES = 3
"""Copies of each object, Ceph's own default, as far as there are storage nodes for them."""
UID = 167

_BOOTSTRAP_OSD = cephx.entry("client.bootstrap-osd", mon="allow profile bootstrap-osd")
_MONITORS = cephx.entry("mon.", mon="allow *")


def secret_file(name: str) -> File:
    """Returns a file of Ceph's own containers that is mounted from a Secret object, whatever its path."""
    return File(name, name)


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if not wiring.monitors:
        return ()
    copies = max(1, min(COPIES, wiring.instances.get(OSD.name, COPIES)))
    written = ceph_client.configuration(wiring, ceph_client.daemons(), *_layers(copies))
    if name == OSD.name:
        return (written, TextFile("client.bootstrap-osd.keyring", (_BOOTSTRAP_OSD,)))
    first = wiring.members(MON.name)[:FIRST_MEMBERS]
    return (
        written,
        TextFile("monitors", tuple(f"{member}\n" for member in first)),
        TextFile("fsid", (Secret("ceph/fsid", encode=cephx.fsid),)),
        TextFile("mgr.key", (Secret("ceph/mgr", encode=cephx.key),)),
        TextFile("client.admin.keyring", (ADMINISTRATOR,)),
        # The accounts of a new cluster; jobs of the projects make the others.
        TextFile("mon.keyring", (_MONITORS, ADMINISTRATOR, _BOOTSTRAP_OSD)),
    )


def _layers(copies: int) -> Iterator[Layer]:
    yield _layer("rados/configuration/mon-config-ref", mon_cluster_log_to_file=False)
    # Only clients older than 2021 need it, and it lets them take over another client's identity.
    yield _layer("security/CVE-2021-20288", auth_allow_insecure_global_id_reclaim=False)
    yield _layer(
        "rados/configuration/pool-pg-config-ref", osd_pool_default_size=copies, mon_allow_pool_size_one=copies == 1
    )


def _layer(page: str, **options: bool | int) -> Layer:
    return Layer(Level.PROJECT, f"https://docs.ceph.com/en/squid/{page}/", {"mon": options})


_IN_QUORUM = r"""ceph daemon "mon.$POD_NAME" mon_status | grep -qE '"state": "(leader|peon)"'"""
_ACTIVE = """\
for socket in /run/ceph/ceph-osd.*.asok; do ceph daemon "$socket" status | grep -q '"state": "active"'; done"""

MON = ProcessDefinition(
    name="ceph-mon",
    project="ceph",
    kind="StatefulSet",
    uid=UID,
    host_network=True,
    claim=Claim(production=100, lab=10),
    grace=120,
    containers=(
        Container(
            name="ceph-mon",
            image="ceph",
            user="ceph",
            command=scripts.text("ceph_mon.sh"),
            # OSDs, and virtual machines with disks in Ceph, are on their nodes' networks.
            ports=(
                Port("msgr2", 3300, clients=("project", "needs", "nodes")),
                Port("msgr1", 6789, clients=("project", "needs", "nodes")),
            ),
            ready=Exec(("bash", "-ec", _IN_QUORUM)),
            alive=Tcp("msgr2"),
            files=(
                CONFIGURATION,
                File("monitors", "/etc/ceph/monitors"),
                *map(secret_file, ("fsid", "mon.keyring", "client.admin.keyring")),
            ),
            data="/var/lib/ceph/mon",
            kolla=False,
            patience=30,
            share=2,
        ),
        Container(
            name="ceph-mgr",
            image="ceph",
            user="ceph",
            command=scripts.text("ceph_mgr.sh"),
            # A standby listens on no port.
            ready=Exec(("bash", "-ec", 'ceph daemon "mgr.$POD_NAME" version')),
            alive=Exec(("pgrep", "-f", "ceph-mgr")),
            files=(CONFIGURATION, *map(secret_file, ("mgr.key", "client.admin.keyring"))),
            kolla=False,
        ),
    ),
)

OSD = ProcessDefinition(
    name="ceph-osd",
    project="ceph",
    kind="DaemonSet",
    uid=UID,
    host_network=True,
    grace=120,
    containers=(
        Container(
            name="ceph-osd",
            image="ceph",
            user="ceph",
            command=scripts.text("ceph_osd.sh"),
            ready=Exec(("bash", "-ec", _ACTIVE)),
            # The start script counts too: it waits for a disk to be prepared. It ends with any of its daemons.
            alive=Exec(("pgrep", "-f", "ceph-osd")),
            files=(CONFIGURATION, secret_file("client.bootstrap-osd.keyring")),
            host_paths=(
                HostPath(name="dev", path="/dev"),
                HostPath(name="lvm", path="/run/lvm"),
                HostPath(name="udev", path="/run/udev", read_only=True),
            ),
            privileged=True,
            kolla=False,
            patience=15,
        ),
    ),
)

PROJECT = ProjectDefinition(name="ceph", processes=(MON, OSD), configure=_configure)
