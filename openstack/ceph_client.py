"""Files of programs that use Ceph: ceph.conf with the monitors' addresses, and the key of the program's account."""

from __future__ import annotations

from blueprint.openstack.projects.process_definition import ConfigurationFile
from openstack.config import cephx
from openstack.config.layers import ConfigFile, Layer, Origin, Section, WrittenFile
from openstack.config.wiring import Wiring

CONFIGURATION = ConfigurationFile("ceph.conf", "/etc/ceph/ceph.conf")
ADMINISTRATOR = cephx.entry("client.admin", mon="allow *", mgr="allow *", osd="allow *", mds="allow *")

_MANUAL = "https://docs.ceph.com/en/tentacle/rados/configuration"


def configuration(wiring: Wiring, *layers: Layer) -> ConfigFile:
    """Returns ceph.conf.

    The file lists every node that may run a monitor, so that it stays valid when a monitor moves.
    """
    monitors = Layer(Origin.PROJECT, f"{_MANUAL}/common/#monitors", {"global": {"mon_host": wiring.monitors}})
    return ConfigFile(CONFIGURATION.name, "ini", (monitors, *layers))


def daemons() -> Layer:
    """Returns settings for containers of Ceph's own image: logs on standard error, and keys from a Secret object."""
    sections: dict[str, Section] = {
        "global": {"log_to_file": False, "log_to_stderr": True, "err_to_stderr": True},
        "client": {"keyring": "/var/lib/kolla/secrets/$name.keyring"},
    }
    return Layer(Origin.PROJECT, f"{_MANUAL}/ceph-conf/", sections)


def keyring(entity: str) -> ConfigurationFile:
    """Returns the name and path of the file with a Ceph account's key, for a client in one of Kolla's images."""
    name = f"ceph.{entity}.keyring"
    return ConfigurationFile(name, f"/etc/ceph/{name}")


def files(wiring: Wiring, *entities: str) -> tuple[WrittenFile, ...]:
    """Returns ceph.conf and a keyring file for each account of `entities`; () in a stack without Ceph."""
    if not wiring.monitors:
        return ()
    return (configuration(wiring), *(cephx.keyring(entity) for entity in entities))
