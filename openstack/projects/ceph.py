"""Ceph: monitors with their managers, and OSDs. They run from Ceph's own image, because Kolla has no image of Ceph.

Monitors run on different physical nodes, and OSDs share their nodes only with node agents (source 004, 5.4.14).
Monitors use the networks of their nodes, because a monitor's address must not change when its pod is recreated (ADR
19). An OSD pod runs one daemon for every prepared disk of its node.
"""

from __future__ import annotations

from collections.abc import Iterator

from openstack import ceph_client, scripts
from openstack.ceph_client import ADMINISTRATOR, CONFIGURATION
from openstack.config import cephx
from openstack.config.layers import Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.wiring import Wiring
from openstack.definition import (
    Claim,
    ConfigurationFile,
    Container,
    Exec,
    HostPath,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

FIRST_MEMBERS = 3
"""Number of monitors for which a new Ceph cluster waits. The list does not grow with the cluster: further monitors join
the quorum later."""
COPIES = 3
"""Copies of each object in Ceph: Ceph's default. Clouds with fewer storage nodes have as many copies as nodes."""
UID = 167

_BOOTSTRAP_OSD = cephx.entry("client.bootstrap-osd", mon="allow profile bootstrap-osd")
_MONITORS = cephx.entry("mon.", mon="allow *")


def secret_file(name: str) -> ConfigurationFile:
    """Returns a file that containers of Ceph's image read from a mounted Secret object, so that it needs no path."""
    return ConfigurationFile(name, name)


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
        # The accounts of a new Ceph cluster. Jobs of the OpenStack projects create the other accounts.
        TextFile("mon.keyring", (_MONITORS, ADMINISTRATOR, _BOOTSTRAP_OSD)),
    )


def _layers(copies: int) -> Iterator[Layer]:
    yield _layer("rados/configuration/mon-config-ref", mon_cluster_log_to_file=False)
    # Only clients older than 2021 need this option, and with it a client can take over another client's identity.
    yield _layer("security/CVE-2021-20288", auth_allow_insecure_global_id_reclaim=False)
    yield _layer(
        "rados/configuration/pool-pg-config-ref", osd_pool_default_size=copies, mon_allow_pool_size_one=copies == 1
    )


def _layer(page: str, **options: bool | int) -> Layer:
    return Layer(Origin.PROJECT, f"https://docs.ceph.com/en/tentacle/{page}/", {"mon": options})


def _answers(command: str, sockets: str, *states: str) -> Exec:
    """Returns a probe of the daemons with admin sockets in /run/ceph that match `sockets`.

    It succeeds if each answers the command with one of the states. Python starts without the site's modules: a probe
    is run again and again on every node.
    """
    text = scripts.text("ceph_state.py")
    return Exec(("python3", "-ISc", text, command, f"/run/ceph/{sockets}.asok", *states))


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
            # OSDs, and virtual machines with disks in Ceph, connect from the addresses of their nodes.
            ports=(
                Port("msgr2", 3300, clients=("project", "needs", "nodes")),
                Port("msgr1", 6789, clients=("project", "needs", "nodes")),
            ),
            ready=_answers("mon_status", "ceph-mon.$POD_NAME", "leader", "peon"),
            alive=Tcp("msgr2"),
            files=(
                CONFIGURATION,
                ConfigurationFile("monitors", "/etc/ceph/monitors"),
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
            # A manager in standby listens on no port, so its socket is queried.
            ready=_answers("version", "ceph-mgr.$POD_NAME"),
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
            ready=_answers("status", "ceph-osd.*", "active"),
            files=(CONFIGURATION, secret_file("client.bootstrap-osd.keyring")),
            host_paths=(
                HostPath(name="dev", path="/dev"),
                HostPath(name="lvm", path="/run/lvm"),
                HostPath(name="udev", path="/run/udev", read_only=True),
            ),
            privileged=True,
            kolla=False,
        ),
    ),
)

PROJECT = ProjectDefinition(name="ceph", processes=(MON, OSD), configure=_configure)
