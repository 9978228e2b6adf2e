"""Reports about virtual machines that do not start on hosts whose kernel confines QEMU."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.previous import quorum_state
from components.virt_host.domain import DOMAIN, files
from policy.facts.quorums.quorum_state import disks
from tests.reports.stacks import planned
from tests.stacks import server

HELPER = Path("/usr/lib/libvirt/virt-aa-helper")
"""Debian's and Ubuntu's program that writes the AppArmor profile of a machine when libvirt starts it."""


def definition() -> str:
    """The domain of a master on a virt host."""
    guest: dict[str, Any] = {
        "id": 0,
        "name": "kube[1-3]",
        "cpu": 4,
        "ram": 8,
        "address": "10.30.0.61",
        "roles": ["master"],
    }
    servers = [
        server("iron[1-3]", ["virt", "compute"], "10.30.0.51", vms=[guest]),
        server("pool[1-6]", ["controller"], "10.30.0.21"),
        server("disk[1-3]", ["storage"], "10.30.0.41"),
    ]
    made = planned(features=["reduced-footprint"], servers=servers)
    state = quorum_state(made)["quorums"]["etcd"]["nodes"]["kube1"]
    # As before 0.7.0, so that the new form does not look like another disk, and all members lost at once.
    assert state["data"] == ["vda pool=quorate volume=kube1.qcow2"]
    return files(next(node for node in made.nodes if node.name == "kube1"), None)[DOMAIN]


def test_each_disk_is_named_by_a_path_and_is_the_same_disk_as_before() -> None:
    text = definition()
    paths = re.findall(r"<disk type='file'[^>]*>.*?<source file='([^']*)'/>", text, re.DOTALL)
    assert paths == [f"/var/lib/libvirt/quorate/kube1{end}" for end in (".qcow2", "-cloud-init.iso")]
    assert text.count("<disk ") == 2
    before = re.sub(r"file='/var/lib/libvirt/quorate/([^']*)'", r"pool='quorate' volume='\1'", text)
    assert disks(text) == disks(before) == {"vda": "pool=quorate volume=kube1.qcow2"}


def test_apparmor_lets_a_machine_open_its_disks() -> None:
    if not HELPER.exists():
        pytest.skip("libvirt-daemon-system of Debian or Ubuntu is not installed")
    text = definition().replace("type='kvm'", "type='qemu'").replace("host-passthrough", "maximum")
    name = re.search(r"<uuid>(.*)</uuid>", text)
    assert name
    words = [str(HELPER), "-d", "-c", "-u", f"libvirt-{name[1]}"]
    profile = subprocess.run(
        words, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    assert '"/var/lib/libvirt/quorate/kube1.qcow2" rwk,' in profile
    assert '"/var/lib/libvirt/quorate/kube1-cloud-init.iso" rk,' in profile
