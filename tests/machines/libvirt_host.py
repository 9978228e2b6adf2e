"""A virt host in a network namespace: a real libvirtd with QEMU and sshd, beside a bridge for its virtual machines."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from proof.services.lab import until
from tests.machines import base_image

NAMESPACE, OUTSIDE = "quorate-virt", "quorate-virt0"
BRIDGE = "br-mgmt"
"""The bridge of the default template."""
ADDRESS, DEPLOYER = "10.77.0.1", "10.77.0.254"
NETWORK = "10.77.0.0/24"
POOL = "quorate"
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


@dataclass(frozen=True)
class VirtHost:
    """The running virt host."""

    directory: Path
    host_key: str

    def virsh(self, *words: str) -> str:
        """Output of virsh, which must succeed."""
        command = ["virsh", "--connect", "qemu:///system", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def names(self, *words: str) -> set[str]:
        """Names of domains or volumes that virsh lists."""
        return {line.split()[0] for line in self.virsh(*words).splitlines() if line.strip()}


@contextmanager
def without_network() -> Generator[None]:
    """Disconnects the virt host while the context is open."""
    words = ["ip", "-n", NAMESPACE, "link", "set", "up0"]
    subprocess.run([*words, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run([*words, "up"], check=True)


def require_programs() -> None:
    """Installs what is missing. Skips the test if that is impossible here."""
    if os.geteuid() != 0:
        pytest.skip("libvirtd and network namespaces need root")
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        if not shutil.which("apt-get"):
            pytest.skip(f"this host has no {', '.join(missing)}, and no apt")
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
            done = subprocess.run(["apt-get", *words], env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"this host has no {', '.join(missing)}, and apt-get {words[0]} failed")
    if Path("/run/libvirt/libvirt-sock").exists() and _answers():
        pytest.skip("a libvirtd runs on this host; the test would change its virtual machines")


@contextmanager
def running(directory: Path, public_key: str) -> Generator[VirtHost]:
    """Runs the virt host, which admits `public_key`; ends all its virtual machines and removes its pool afterwards."""
    with ExitStack() as stack:
        stack.enter_context(_network())
        host_key = directory / "host_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key], check=True)
        authorized = directory / "authorized_keys"
        authorized.write_text(public_key, encoding="utf-8")
        Path("/run/sshd").mkdir(exist_ok=True)
        options = (f"AuthorizedKeysFile={authorized}", "StrictModes=no", "UsePAM=no", "PidFile=none")
        sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", host_key]
        stack.enter_context(_daemon(directory, "virtlogd", ["virtlogd"]))
        # libvirtd tries KVM for minutes where it is there and of no use.
        hidden = "[ ! -e /dev/kvm ] || mount --bind /dev/null /dev/kvm; exec libvirtd"
        stack.enter_context(_daemon(directory, "libvirtd", _inside("unshare", "--mount", "sh", "-c", hidden)))
        stack.enter_context(
            _daemon(directory, "sshd", _inside(*map(str, sshd), *(word for each in options for word in ("-o", each))))
        )
        until("libvirtd", _answers, 60)
        host = VirtHost(directory, (directory / "host_key.pub").read_text(encoding="utf-8").strip())
        stack.callback(_clean, host)
        _clean(host)
        yield host


def _inside(*words: str) -> list[str]:
    return ["ip", "netns", "exec", NAMESPACE, *words]


def _answers() -> bool:
    command = ["virsh", "--connect", "qemu:///system", "version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def _daemon(directory: Path, name: str, command: list[str]) -> Generator[None]:
    with (directory / f"{name}.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def _network() -> Generator[None]:
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    for left in (["netns", "delete", NAMESPACE], ["link", "delete", OUTSIDE]):  # by a run that was killed
        subprocess.run(["ip", *left], capture_output=True, check=False)
    ip("netns", "add", NAMESPACE)
    try:
        ip("link", "add", OUTSIDE, "type", "veth", "peer", "name", "up0", "netns", NAMESPACE)
        ip("address", "add", f"{DEPLOYER}/24", "dev", OUTSIDE)
        ip("link", "set", OUTSIDE, "up")
        ip("-n", NAMESPACE, "link", "add", BRIDGE, "type", "bridge")
        ip("-n", NAMESPACE, "link", "set", "up0", "master", BRIDGE)
        for name in ("lo", "up0", BRIDGE):
            ip("-n", NAMESPACE, "link", "set", name, "up")
        ip("-n", NAMESPACE, "address", "add", f"{ADDRESS}/24", "dev", BRIDGE)
        yield
    finally:
        # It fails while a process that has ended is still in it, and removes it all the same.
        subprocess.run(["ip", "netns", "delete", NAMESPACE], capture_output=True, check=False)
        assert NAMESPACE not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


def _clean(host: VirtHost) -> None:
    """Ends virtual machines, and deletes the pool with its disks."""
    for name in host.names("list", "--name"):
        host.virsh("destroy", name)
    for name in host.names("list", "--all", "--name"):
        host.virsh("undefine", name)
    if POOL in host.names("pool-list", "--all", "--name"):
        if POOL in host.names("pool-list", "--name"):
            host.virsh("pool-destroy", POOL)
        host.virsh("pool-undefine", POOL)
    shutil.rmtree(Path("/var/lib/libvirt") / POOL, ignore_errors=True)
    time.sleep(0.1)
