"""A virt host in a network namespace: a real libvirtd with QEMU or LXC, and sshd, beside a bridge for its machines."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import host_programs
from tests.trials.machines import base_image, virt_network
from tests.trials.machines.virt_network import Place
from trials.services.testbed import until

PLACE = Place("quorate-virt", "quorate-virt0", "10.77.0.1", "10.77.0.254")
NETWORK = "10.77.0.0/24"
POOL = "quorate"
QEMU, LXC = "qemu:///system", "lxc:///system"
PACKAGES = (
    "dosfstools",
    "e2fsprogs",
    "fdisk",
    "genisoimage",
    "libvirt-clients",
    "libvirt-daemon-system",
    "mtools",
    "openssh-server",
    "qemu-system-x86",
    "qemu-utils",
    "syslinux",
    "syslinux-common",
    "xsltproc",
)
PROGRAMS = ("libvirtd", "virtlogd", "virsh", "qemu-system-x86_64", "sshd", "xsltproc", "mkisofs", *base_image.PROGRAMS)
"""What PACKAGES bring; they are installed only if one of these is missing."""
LXC_PACKAGES = ("libvirt-clients", "libvirt-daemon-driver-lxc", "libvirt-daemon-system", "openssh-server")
LXC_PROGRAMS = ("libvirtd", "virsh", "sshd", "/usr/lib/libvirt/libvirt_lxc")


@dataclass(frozen=True)
class VirtHost:
    """The running virt host."""

    directory: Path
    host_key: str
    uri: str

    def virsh(self, *words: str) -> str:
        """Output of virsh, which must succeed."""
        command = ["virsh", "--connect", self.uri, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def names(self, *words: str) -> set[str]:
        """Names of domains or volumes that virsh lists."""
        return {line.split()[0] for line in self.virsh(*words).splitlines() if line.strip()}


@contextmanager
def without_network() -> Generator[None]:
    """Disconnects the virt host while the context is open."""
    words = ["ip", "-n", PLACE.namespace, "link", "set", virt_network.UPLINK]
    subprocess.run([*words, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run([*words, "up"], check=True)


def require_programs(programs: Sequence[str] = PROGRAMS, packages: Sequence[str] = PACKAGES) -> None:
    """Installs what is missing. Skips the test if that is impossible here."""
    if os.geteuid() != 0:
        pytest.skip("libvirtd and network namespaces need root")
    host_programs.require(programs, packages)
    if Path("/run/libvirt/libvirt-sock").exists() and _answers(QEMU):
        pytest.skip("a libvirtd runs on this host; the test would change its virtual machines")


@contextmanager
def running(directory: Path, public_key: str, uri: str = QEMU) -> Generator[VirtHost]:
    """Runs the virt host, which admits `public_key`; ends all its machines and removes its pool afterwards.

    `uri`: of the libvirt driver.
    """
    with ExitStack() as stack:
        stack.enter_context(virt_network.connected(PLACE))
        host_key = directory / "host_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key], check=True)
        authorized = directory / "authorized_keys"
        authorized.write_text(public_key, encoding="utf-8")
        Path("/run/sshd").mkdir(exist_ok=True)
        options = (f"AuthorizedKeysFile={authorized}", "StrictModes=no", "UsePAM=no", "PidFile=none")
        sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", host_key]
        stack.enter_context(_daemon(directory, "virtlogd", ["virtlogd"]))
        # libvirtd tries KVM for minutes where it is there and of no use. Its LXC driver fails where cgroup v2 is
        # mounted beside v1, and `ip netns exec` would hide the host's cgroups.
        hidden = (
            "[ ! -e /dev/kvm ] || mount --bind /dev/null /dev/kvm; "
            "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified; exec libvirtd"
        )
        words = ["nsenter", f"--net=/run/netns/{PLACE.namespace}", "unshare", "--mount", "sh", "-c", hidden]
        stack.enter_context(_daemon(directory, "libvirtd", words))
        stack.enter_context(
            _daemon(directory, "sshd", _inside(*map(str, sshd), *(word for each in options for word in ("-o", each))))
        )
        until("libvirtd", lambda: _answers(uri), 60)
        host = VirtHost(directory, (directory / "host_key.pub").read_text(encoding="utf-8").strip(), uri)
        stack.callback(_clean, host)
        _clean(host)
        yield host


def _inside(*words: str) -> list[str]:
    return ["ip", "netns", "exec", PLACE.namespace, *words]


def _answers(uri: str) -> bool:
    command = ["virsh", "--connect", uri, "version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def _daemon(directory: Path, name: str, command: list[str]) -> Generator[None]:
    with (directory / f"{name}.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.terminate()


def _clean(host: VirtHost) -> None:
    """Ends machines, and deletes the pool with its disks, or the root file systems."""
    for name in host.names("list", "--name"):
        host.virsh("destroy", name)
    for name in host.names("list", "--all", "--name"):
        host.virsh("undefine", name)
    if host.uri == LXC:
        shutil.rmtree(Path("/var/lib/libvirt/lxc"), ignore_errors=True)
    elif POOL in host.names("pool-list", "--all", "--name"):
        if POOL in host.names("pool-list", "--name"):
            host.virsh("pool-destroy", POOL)
        host.virsh("pool-undefine", POOL)
    shutil.rmtree(Path("/var/lib/libvirt") / POOL, ignore_errors=True)
    time.sleep(0.1)
