"""Configuration of Ceph's daemons, and the keys of a new Ceph cluster."""

from __future__ import annotations

from collections.abc import Iterator

from openstack import ceph_client, scripts
from openstack.ceph_client import ADMINISTRATOR
from openstack.config import cephx
from openstack.config.layers import Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.wiring import Wiring

FIRST_MEMBERS = 3
"""Number of monitors for which a new Ceph cluster waits. The list does not grow with the cluster: further monitors join
the quorum later."""
COPIES = 3
"""Copies of each object in Ceph: Ceph's default. Clouds with fewer storage nodes have as many copies as nodes."""

_MON, _OSD = "ceph-mon", "ceph-osd"
_BOOTSTRAP_OSD = cephx.entry("client.bootstrap-osd", mon="allow profile bootstrap-osd")
_MONITORS = cephx.entry("mon.", mon="allow *")


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if not wiring.monitors:
        return ()
    copies = max(1, min(COPIES, wiring.instances.get(_OSD, COPIES)))
    written = ceph_client.configuration(wiring, ceph_client.daemons(), *_layers(copies))
    if name == _OSD:
        written = written.with_layers(*_networks(wiring))
        return (written, TextFile("client.bootstrap-osd.keyring", (_BOOTSTRAP_OSD,)))
    first = wiring.members(_MON)[:FIRST_MEMBERS]
    return (
        written,
        TextFile("ceph_state.py", (scripts.text("ceph_state.py"),)),
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
        "rados/configuration/pool-pg-config-ref",
        osd_pool_default_size=copies,
        # A write is acknowledged with two of three copies at least: Ceph's default, set explicitly.
        osd_pool_default_min_size=copies - copies // 2,
        mon_allow_pool_size_one=copies == 1,
    )


def _networks(wiring: Wiring) -> Iterator[Layer]:
    """Yields the networks of OSDs: clients and copies share the storage network. Their start script has the address.

    Monitors stay in the management network: their addresses cannot change, and they carry no data.
    """
    if storage := wiring.networks.get("storage"):
        options: Section = {"public_network": str(storage.cidr), "cluster_network": str(storage.cidr)}
        page = "https://docs.ceph.com/en/tentacle/rados/configuration/network-config-ref/"
        yield Layer(Origin.STACK, f"quorate:networks.storage; {page}", {"osd": options})


def _layer(page: str, **options: bool | int) -> Layer:
    return Layer(Origin.PROJECT, f"https://docs.ceph.com/en/tentacle/{page}/", {"mon": options})
