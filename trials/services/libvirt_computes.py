"""Computes with libvirt in the test bed: a machine with libvirtd and a nova-compute that uses its QEMU or its LXC."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trials.services.openstack_services import ServiceCloud
from trials.services.testbed import ServiceMachine, Unavailable
from trials.services.virtual_bmcs import QEMU_CONFIGURATION

_PREPARE = """\
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /sys/fs/cgroup
for each in cpu cpuacct cpuset memory devices freezer blkio; do
    mkdir /sys/fs/cgroup/$each
    mount -t cgroup -o $each cgroup /sys/fs/cgroup/$each
done
"""
"""Mounts the host's hierarchies of cgroup v1, which libvirt's LXC driver needs."""
_START = """\
libvirtd &
until virsh --connect {uri} version; do kill -0 $! || exit; sleep 0.5; done
"""
_ENTER = """\
#!/bin/sh
export PYTHONPATH={packages}
exec python3 -W ignore -c 'import sys; from {module} import {function}; sys.exit({function}())' "$@"
"""
"""A command of the release, run by the Python of the machine's own root, which has libvirt's module."""
_COMMANDS = {"nova-compute": ("nova.cmd.compute", "main"), "privsep-helper": ("oslo_privsep.daemon", "helper_main")}
_PYTHON = "python3.11"
"""Python of Debian 12."""
_INIT = "#!/bin/busybox sh\nwhile :; do /bin/busybox sleep 60; done\n"
_IMAGE = "16M"


@dataclass(frozen=True)
class LibvirtCompute:
    """A compute whose virtual machines are those of a driver of libvirt."""

    name: str
    virt_type: str
    """Nova's name of the hypervisor, and that of its images: qemu or lxc."""
    uri: str


QEMU = LibvirtCompute("nova-compute-qemu", "qemu", "qemu:///system")
LXC = LibvirtCompute("nova-compute-lxc", "lxc", "lxc:///system")


@contextmanager
def cgroups_removed() -> Generator[None]:
    """Removes libvirt's empty cgroups from the host's hierarchies at its end, when no machine runs."""
    try:
        yield
    finally:
        for parent in Path("/sys/fs/cgroup").glob("*/machine"):
            for cgroup in (*parent.glob("lxc-*.libvirt-lxc"), parent):
                with suppress(OSError):  # a host with virtual machines of its own needs its cgroup
                    cgroup.rmdir()


def begin(cloud: ServiceCloud, root: Path, compute: LibvirtCompute) -> ServiceMachine:
    """Adds a machine with libvirtd to the cloud, and starts the rendered nova-compute on it.

    `root`: the Debian root of computes. Raises Unavailable if the release runs with another Python.
    """
    packages = cloud.release / "lib" / _PYTHON / "site-packages"
    if not packages.exists():
        raise Unavailable(f"the trial of hypervisors needs an environment of {_PYTHON}")
    machine = cloud.processes[compute.name] = cloud.testbed.add(compute.name, root=root)
    machine.show(packages)
    machine.add_account("libvirt-qemu")  # libvirt's QEMU driver needs it, and this package does not create it
    machine.run(["sh", "-ec", _PREPARE])
    machine.write("/etc/libvirt/qemu.conf", QEMU_CONFIGURATION)
    machine.run(["mkdir", "-p", "/var/lib/nova/instances"])  # with disks in Ceph, nova-compute does not need it
    for command, (module, function) in _COMMANDS.items():
        text = _ENTER.format(packages=packages, module=module, function=function)
        machine.write(f"/usr/local/bin/{command}", text, mode="0755")
    machine.environment |= _options(compute)
    cloud.begin(compute.name, before=_START.format(uri=compute.uri))
    return machine


def _options(compute: LibvirtCompute) -> dict[str, str]:
    """Returns variables in place of options that need Ceph, KVM, sudo, or more memory than the host has."""
    return {
        "OS_DEFAULT__COMPUTE_DRIVER": "libvirt.LibvirtDriver",
        "OS_DEFAULT__RESERVED_HOST_CPUS": "0",
        "OS_DEFAULT__RESERVED_HOST_MEMORY_MB": "512",
        "OS_LIBVIRT__CONNECTION_URI": compute.uri,
        "OS_LIBVIRT__IMAGES_TYPE": "raw",
        "OS_LIBVIRT__VIRT_TYPE": compute.virt_type,
        "OS_NOVA_SYS_ADMIN__HELPER_COMMAND": "privsep-helper",
        "OS_VIF_PLUG_LINUX_BRIDGE_PRIVILEGED__HELPER_COMMAND": "privsep-helper",
        "OS_VIF_PLUG_OVS_PRIVILEGED__HELPER_COMMAND": "privsep-helper",
    }


def write_container_image(root: Path, target: Path) -> None:
    """Writes the image of a system container: an ext4 file system with busybox as its init."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        for name in ("bin", "dev", "etc", "proc", "sbin", "sys", "tmp"):
            (tree / name).mkdir()
        (tree / "bin/busybox").write_bytes((root / "bin/busybox").read_bytes())
        (tree / "sbin/init").write_text(_INIT, encoding="ascii")
        for name in ("bin/busybox", "sbin/init"):
            (tree / name).chmod(0o755)
        libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"
        tool = [root / "lib64/ld-linux-x86-64.so.2", "--library-path", libraries, root / "sbin/mke2fs"]
        words = [*tool, "-q", "-t", "ext4", "-d", tree, target, _IMAGE]
        subprocess.run(words, check=True, capture_output=True)
