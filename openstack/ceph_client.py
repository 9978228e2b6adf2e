"""Files of programs that use Ceph: ceph.conf with the monitors' addresses, and the key of the program's account."""

from __future__ import annotations

import re
from dataclasses import replace

from blueprint.openstack.projects.process_definition import ConfigurationFile, Container, ProcessDefinition
from blueprint.stackfile.ceph_settings import CephPools, ExternalCeph
from openstack.config import cephx
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, WrittenFile
from openstack.config.wiring import Wiring

CONFIGURATION = ConfigurationFile("ceph.conf", "/etc/ceph/ceph.conf")
ADMINISTRATOR = cephx.entry("client.admin", mon="allow *", mgr="allow *", osd="allow *", mds="allow *")

_KEYRING = re.compile(r"ceph\.(client\.[-a-z]+)\.keyring")
"""Matches names of keyring files, with the program that reads them."""
_MANUAL = "https://docs.ceph.com/en/tentacle/rados/configuration"


def configuration(wiring: Wiring, *layers: Layer) -> ConfigFile:
    """Returns ceph.conf.

    The file lists every node that may run a monitor, so that it stays valid when a monitor moves. For an external
    cluster, it has what the stack file says.
    """
    cluster: Section = {"mon_host": wiring.monitors}
    if wiring.external_ceph:
        cluster = {"fsid": wiring.external_ceph.fsid, **cluster}
    monitors = Layer(Origin.PROJECT, f"{_MANUAL}/common/#monitors", {"global": cluster})
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


def client(wiring: Wiring, program: str) -> cephx.CephClient:
    """Returns the Ceph account of a program such as client.glance, in the cluster that the stack uses."""
    return _external(wiring.external_ceph, program) if wiring.external_ceph else cephx.own_client(program)


def pools(wiring: Wiring) -> CephPools:
    """Returns the names of the pools in the cluster that the stack uses."""
    return wiring.external_ceph.pools if wiring.external_ceph else CephPools()


def files(wiring: Wiring, *programs: str) -> tuple[WrittenFile, ...]:
    """Returns ceph.conf and a keyring file for the account of each program; () in a stack without Ceph."""
    if not wiring.monitors:
        return ()
    return (configuration(wiring), *(cephx.keyring(client(wiring, program)) for program in programs))


def placed(process: ProcessDefinition, external: ExternalCeph | None) -> ProcessDefinition:
    """Returns a process whose keyrings are where clients look for them, by the names of an external cluster's accounts.

    os-brick, with which cinder-backup opens volumes, reads no other path (os_brick/initiator/connectors/rbd.py).
    """
    if external is None:
        return process
    return replace(process, containers=tuple(_placed(container, external) for container in process.containers))


def _placed(container: Container, external: ExternalCeph) -> Container:
    found: dict[str, ConfigurationFile] = {}
    for file in container.files:
        matched = _KEYRING.fullmatch(file.name)
        path = keyring(_external(external, matched[1]).entity).path if matched else file.path
        found.setdefault(path, replace(file, path=path))  # programs may share an account
    return replace(container, files=tuple(found.values()))


def _external(external: ExternalCeph, program: str) -> cephx.CephClient:
    name, account = external.account(program.removeprefix("client."))
    return cephx.CephClient(program, f"client.{name}", Secret(account.key.key))
