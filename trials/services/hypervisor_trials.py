"""Trial of `hypervisor_type`: Nova's scheduler with computes of three hypervisors, libvirt's QEMU and LXC among them.

Keystone, Placement, Glance, Neutron's server and Nova run with their rendered jobs and configuration. Beside a compute
with Nova's fake driver, two machines run libvirtd and nova-compute. Servers have no network.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trials.services import libvirt_computes
from trials.services.containers import TriedContainer
from trials.services.libvirt_computes import LXC, QEMU
from trials.services.openstack_services import ServiceCloud
from trials.services.openstack_trials import Programs
from trials.services.testbed import ServiceTestbed
from trials.trial_report import Proof

_PROJECTS = {
    "keystone": ("keystone",),
    "placement": ("placement-api",),
    "glance": ("glance-api",),
    "neutron": ("neutron-server",),
    "nova": ("nova-conductor", "nova-scheduler", "nova-api", "nova-compute"),
}
_CLIENT = Path(__file__).with_name("hypervisor_client.py")
_HOSTS = {"fake": "nova-compute", QEMU.virt_type: QEMU.name, LXC.virt_type: LXC.name}
"""The host of each hypervisor."""
_SERVERS, _REFUSED = 20, 5
"""Servers with the image of each hypervisor, and of those whose hypervisor is disabled."""
_SECTOR = 512


def prove(programs: Programs, root: Path, containers: Mapping[str, TriedContainer]) -> Iterator[Proof]:
    """Starts Nova in the test bed with three hypervisors, and yields the results.

    `root`: Debian root of computes. Raises Unavailable if this machine cannot run the test bed, and Broken if a service
    does not work.
    """
    with libvirt_computes.cgroups_removed(), ServiceTestbed(programs.root) as testbed:
        cloud = ServiceCloud(testbed, containers, programs.release, _PROJECTS, _CLIENT)
        notes = cloud.start()
        for compute in (QEMU, LXC):
            libvirt_computes.begin(cloud, root, compute)
        _place_images(cloud, root)
        notes += cloud.use("prepare").splitlines()
        for hypervisor, host in _HOSTS.items():
            yield _landed(cloud, hypervisor, host, notes)
            notes = []
        for hypervisor, host in _HOSTS.items():
            yield _refused(cloud, hypervisor, host)


def _place_images(cloud: ServiceCloud, root: Path) -> None:
    images = cloud.testbed.directory / "images"
    images.mkdir()
    for name in ("fake", QEMU.virt_type):
        (images / name).write_bytes(bytes(_SECTOR))
    libvirt_computes.write_container_image(root, images / LXC.virt_type)
    cloud.client.place_file(images, "/images")


def _landed(cloud: ServiceCloud, hypervisor: str, host: str, notes: Sequence[str]) -> Proof:
    started = time.monotonic()
    found = Counter(cloud.use(f"servers {hypervisor} {_SERVERS}").splitlines())
    right = found[f"ACTIVE {host}"]
    return _proof(f"Nova: servers with an image of {hypervisor} are on its host", found, right, started, notes)


def _refused(cloud: ServiceCloud, hypervisor: str, host: str) -> Proof:
    started = time.monotonic()
    found = Counter(cloud.use(f"without {hypervisor} {host} {_REFUSED}").splitlines())
    right = sum(number for line, number in found.items() if line.startswith("ERROR No valid host"))
    name = f"Nova: servers with an image of {hypervisor} get no host while its compute is disabled"
    return _proof(name, found, right, started, ())


def _proof(name: str, found: Counter[str], right: int, started: float, notes: Sequence[str]) -> Proof:
    """Returns the result, with a failure if not all servers are as they must be."""
    said = tuple(f"{number} times {line}" for line, number in found.items())
    failure = "" if right == found.total() else "; ".join(said)
    return Proof(name, found.total(), right, 0, time.monotonic() - started, (*notes, *said), failure)
