"""Tests of how virtual machines move between computes: over TLS with the computes' certificates, and by SSH."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.plan.planner import plan
from components.k8s_master import pki
from components.secrets import derive
from formats import ssh_key
from openstack import kolla
from openstack.config import migrations
from openstack.config.formats import public_text
from openstack.config.layers import ConfigFile
from openstack.config.wiring import Wiring, wiring
from tests.projects import PROCESSES, PROJECTS
from tests.stacks import full_size, parsed

WIRING = wiring(plan(parsed(full_size("100"))), "openstack")
(NOVA,) = (each for each in PROJECTS if each.name == "nova")
(LIBVIRT,) = PROCESSES["nova-libvirt"].containers


def reveal(name: str) -> str:
    return derive("root", "openstack", name, 1)


def options(around: Wiring, process: str, file: str, section: str = "") -> Mapping[str, object]:
    """Returns the options of a section of one of Nova's files."""
    (found,) = (each for each in NOVA.configure(around, process) if each.name == file)
    assert isinstance(found, ConfigFile)
    return {name: option.value for name, option in found.document().get(section, {}).items()}


def test_virtual_machines_migrate_over_tls_only() -> None:
    nova = options(WIRING, "nova-compute", "nova.conf", "libvirt")
    assert (nova["live_migration_scheme"], nova["live_migration_with_native_tls"]) == ("tls", True)
    daemon = options(WIRING, "nova-libvirt", "libvirtd.conf")
    assert (daemon["listen_tls"], daemon["listen_tcp"]) == (1, 0)
    guests = options(WIRING, "nova-libvirt", "qemu.conf")
    assert (guests["migrate_tls_force"], guests["default_tls_x509_verify"]) == (1, 1)


def test_without_certificates_libvirt_has_no_port() -> None:
    around = replace(WIRING, sets_up_machines=False)
    daemon = options(around, "nova-libvirt", "libvirtd.conf")
    assert (daemon["listen_tls"], daemon["listen_tcp"]) == (0, 0)
    assert "live_migration_scheme" not in options(around, "nova-compute", "nova.conf", "libvirt")
    assert "migrate_tls_force" not in options(around, "nova-libvirt", "qemu.conf")


def test_the_certificate_is_the_one_that_the_machine_has() -> None:
    """Libvirt looks for it in directories of its own, QEMU in that of qemu.conf; what they read is the node's."""
    guests = options(WIRING, "nova-libvirt", "qemu.conf")
    mounts = {path.mount: path.path for path in LIBVIRT.host_paths if path.path.startswith(pki.COMPUTE)}
    assert mounts == {f"/etc/pki/{name}": f"{pki.COMPUTE}/pki/{name}" for name in ("CA", "libvirt", "qemu")}
    assert all(path.read_only for path in LIBVIRT.host_paths if path.mount in mounts)
    assert str(guests["default_tls_x509_cert_dir"]).strip('"') in mounts


def test_computes_know_each_other_by_derived_keys() -> None:
    """Nova's user on one compute logs in to the others, whose host key it knows."""
    files = kolla.FileSet(NOVA.configure(WIRING, "nova-compute")).secret(reveal)
    keys = [ssh_key.derived(reveal(name)) for name in ("nova/ssh", "nova/ssh-host")]
    assert (files["ssh_key"], files["ssh_host_key"]) == tuple(key.private for key in keys)
    assert files["ssh_authorized_keys"] == f"{keys[0].public}\n"
    assert files["ssh_known_hosts"] == f"quorate-computes {keys[1].public}\n"


def test_the_daemon_reads_the_users_keys_as_the_user() -> None:
    files = kolla.FileSet(NOVA.configure(WIRING, "nova-ssh"))
    written = json.loads(kolla.data(PROCESSES["nova-ssh"], files)["config.json"])["config_files"]
    owners = {each["dest"].rpartition("/")[2]: each["owner"] for each in written}
    assert owners == {"sshd_config": "root", "nova_host_key": "root", "nova_authorized_keys": "nova"}


def test_ssh_reads_its_configuration(tmp_path: Path) -> None:
    written = {file.name: file for file in NOVA.configure(WIRING, "nova-compute")}
    (tmp_path / "config").write_text(public_text(written["ssh_config"]) or "", encoding="utf-8")
    ssh = ["ssh", "-G", "-F", str(tmp_path / "config"), "10.20.0.12"]
    lines = subprocess.run(ssh, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = {"port 8022", "user nova", "hostkeyalias quorate-computes", "stricthostkeychecking true"}
    assert expected <= set(lines)
    assert [port.number for port in PROCESSES["nova-ssh"].containers[0].ports] == [migrations.PORT]
