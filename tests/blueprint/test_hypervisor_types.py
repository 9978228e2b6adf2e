"""The table of hypervisors: the only module that tells one from another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from blueprint.hypervisor_types import EMULATED, HYPERVISOR_TYPES, SYSTEM_CONTAINERS, VIRTUAL_MACHINES, HypervisorName
from components.virt_host.domain import FOLDER
from contract import LIBVIRT_DISKS
from tests.stacks import ROOT

PACKAGES = ("audit", "blueprint", "changes", "components", "doctor", "openstack", "policy", "proof")
TELLING = {"kvm", "qemu", "lxc"}
"""Names that stand for nothing but a hypervisor. `container` is a word of Kubernetes too."""
DEFAULTS = {
    ("blueprint/hypervisor_types.py", name) for name in TELLING
} | {
    ("blueprint/stackfile/servers.py", "kvm"),  # of a virt host
    ("policy/facts/machines/libvirt.py", "kvm"),  # of pulumi-libvirt
    ("openstack/projects/nova.py", "kvm"),  # of tenants' machines: Nova's own option
    *(("blueprint/stackfile/cloud_content.py", name) for name in ("lxc", "qemu")),  # of images: Nova's own property
    ("openstack/projects/bootstrap.py", "qemu"),  # of the image of a stack with Ironic
}  # fmt: skip


def named() -> Iterator[tuple[str, str]]:
    """Yields the places in the sources where a text is the name of a hypervisor: file and name."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(each, ast.Constant) and each.value in TELLING:
                    yield str(path.relative_to(ROOT)), str(each.value)


def test_a_hypervisor_is_one_file() -> None:
    assert set(named()) == DEFAULTS


def test_every_name_of_the_stack_file_has_an_entry() -> None:
    assert tuple(HYPERVISOR_TYPES) == get_args(HypervisorName)
    assert VIRTUAL_MACHINES == ("kvm", "qemu")
    assert SYSTEM_CONTAINERS == ("lxc", "container")
    assert EMULATED == ("qemu",)


def test_every_template_exists_and_a_domain_has_one_of_its_type() -> None:
    for name, hypervisor in HYPERVISOR_TYPES.items():
        texts = [Path(FOLDER / file).read_text(encoding="utf-8") for file in hypervisor.definition]
        if hypervisor.has_domain:
            (domain,) = texts
            assert any(f"<domain type='{given}'" in domain for given in (name, "{type}")), name
        else:
            assert not any("<domain" in text for text in texts), name


def test_only_virtual_machines_have_a_processor_and_an_interface_without_a_fixed_name() -> None:
    for name, hypervisor in HYPERVISOR_TYPES.items():
        assert bool(hypervisor.cpu_mode) == hypervisor.has_own_kernel, name
        assert (hypervisor.interface is None) == hypervisor.has_own_kernel, name


def test_scripts_on_virt_hosts_know_the_same_places() -> None:
    """The scripts run without Python: they have connection and device by themselves."""
    target = ROOT / "components" / "target"
    containers = (target / "system_container.sh").read_text(encoding="utf-8")
    assert f"virsh --connect {HYPERVISOR_TYPES['lxc'].connection} " in containers
    assert all(f"{name}) root=" in containers for name in SYSTEM_CONTAINERS)
    pool = (target / "storage_pool.sh").read_text(encoding="utf-8")
    assert all(f"system={HYPERVISOR_TYPES[name].connection}\n" in pool for name in VIRTUAL_MACHINES)
    assert f"-e {HYPERVISOR_TYPES['kvm'].device} ]" in pool
    assert f"<path>{Path(LIBVIRT_DISKS).parent}/$pool</path>" in pool
    probe = (ROOT / "doctor" / "probe.sh").read_text(encoding="utf-8")
    for hypervisor in HYPERVISOR_TYPES.values():
        if hypervisor.device:
            assert f"[ -c {hypervisor.device} ]; then fact {Path(hypervisor.device).name} yes" in probe
