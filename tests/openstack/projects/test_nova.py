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
    """Libvirt and QEMU look for it under names of their own, QEMU as the user in qemu.conf."""
    (mount,) = (path for path in LIBVIRT.host_paths if path.path == pki.COMPUTE)
    assert {file.source.rpartition("/")[0] for file in LIBVIRT.node_files} == {mount.mount}
    assert {file.source.rpartition("/")[2] for file in LIBVIRT.node_files} == {"ca.crt", "tls.crt", "tls.key"}
    guests = options(WIRING, "nova-libvirt", "qemu.conf")
    directory = str(guests["default_tls_x509_cert_dir"]).strip('"')
    names = {
        file.path.removeprefix(f"{directory}/") for file in LIBVIRT.node_files if f'"{file.owner}"' == guests["user"]
    }
    assert names == {"ca-cert.pem", "server-cert.pem", "server-key.pem", "client-cert.pem", "client-key.pem"}


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


def test_a_node_without_the_certificate_starts_too() -> None:
    """A machine that Quorate does not set up has none."""
    files = kolla.FileSet(NOVA.configure(WIRING, "nova-libvirt"))
    written = json.loads(kolla.data(PROCESSES["nova-libvirt"], files)["config.json"])["config_files"]
    of_node = [each for each in written if each["source"].startswith("/var/lib/kolla/compute/")]
    assert len(of_node) == len(LIBVIRT.node_files)
    assert all(each["optional"] and each["perm"] == "0600" for each in of_node)
    assert not any("optional" in each for each in written if each not in of_node)
