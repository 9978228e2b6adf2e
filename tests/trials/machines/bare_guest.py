"""A bare machine that QEMU emulates: Debian 12 with cgroup v2, an address and sshd, as an installer leaves it.

Its disk is made from a Debian root, without mounts. The kernel is started directly.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tests.trials.machines.virt_network import BRIDGE, Place
from trials.bare_metal.server_image import EMULATED

PROGRAMS = ("qemu-system-x86_64", "mke2fs", "ssh-keygen")
PACKAGES = ("e2fsprogs", "openssh-client", "qemu-system-x86")
DISK = "40G"
"""Size of the disk; the file is sparse. `doctor` wants 20 GiB free."""
HOST_KEY = "etc/ssh/ssh_host_ed25519_key"
_NETWORK = """\
[Match]
Name=en*

[Network]
Address={address}/24
Gateway={gateway}
"""
_LINE = ("root=/dev/vda", "rw", "console=ttyS0", "systemd.show_status=no", *EMULATED)


@dataclass(frozen=True)
class BareGuest:
    """A machine that can be started."""

    name: str
    address: str
    memory: int
    """MiB."""
    disk: Path
    host_key: str
    """Its public SSH host key."""
    boot: tuple[str, ...]
    """Options of QEMU: what it boots, beside its disk."""

    @property
    def mac(self) -> str:
        """The address of its card."""
        return mac(self.address)


@dataclass(frozen=True)
class Installer:
    """Makes the disks of machines."""

    root: Path
    """A Debian root."""
    place: Place
    """The network that the machines are in."""
    authorized: str
    """The public key of root's login."""
    work: Path
    """A directory for the disks."""

    def make(self, name: str, address: str, memory: int) -> BareGuest:
        """Makes the disk of a machine. `memory`: in MiB."""
        tree, disk = self.work / name, self.work / f"{name}.ext4"
        subprocess.run(["cp", "--archive", "--reflink=auto", self.root, tree], check=True)
        host_key = self._configure(tree, name, address)
        subprocess.run(["truncate", f"--size={DISK}", disk], check=True)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", tree, disk], check=True, capture_output=True)
        shutil.rmtree(tree)
        kernel, ramdisk = (next((self.root / "boot").glob(f"{each}-*")) for each in ("vmlinuz", "initrd.img"))
        boot = ("-kernel", str(kernel), "-initrd", str(ramdisk), "-append", " ".join(_LINE))
        return BareGuest(name, address, memory, disk, host_key, boot)

    def _configure(self, tree: Path, name: str, address: str) -> str:
        """Gives a machine its name, its address, the login and a host key, and returns the public host key."""
        gateway = self.place.deployer
        texts = {
            # As Debian's images for clouds have it.
            "etc/apt/apt.conf.d/90languages": 'Acquire::Languages "none";\n',
            "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
            "etc/hostname": f"{name}\n",
            "etc/hosts": f"127.0.0.1 localhost\n{address} {name}\n",
            "etc/machine-id": "",
            "etc/resolv.conf": f"nameserver {gateway}\n",
            "etc/systemd/network/10-wired.network": _NETWORK.format(address=address, gateway=gateway),
            "root/.ssh/authorized_keys": self.authorized,
        }
        (tree / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
        for path, text in texts.items():
            (tree / path).unlink(missing_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
        wants = tree / "etc/systemd/system/multi-user.target.wants"
        (wants / "systemd-networkd.service").symlink_to("/lib/systemd/system/systemd-networkd.service")
        for left in (tree / "etc/ssh").glob("ssh_host_*"):
            left.unlink()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", tree / HOST_KEY], check=True)
        return (tree / f"{HOST_KEY}.pub").read_text(encoding="utf-8").strip()


def mac(address: str) -> str:
    """Returns the address of the card of the machine with this IP address."""
    return ":".join(f"{byte:02x}" for byte in b"\x52\x58" + IPv4Address(address).packed)


@contextmanager
def running(guests: Sequence[BareGuest], place: Place, processors: int = 2) -> Generator[None]:
    """Runs machines, and cuts their power afterwards."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for guest in guests:
            card = f"tap{guest.address.rpartition('.')[2]}"
            for words in (
                ["tuntap", "add", "dev", card, "mode", "tap"],
                ["link", "set", card, "master", BRIDGE, "up"],
            ):
                subprocess.run(["ip", "-n", place.namespace, *words], check=True)
            command = _qemu(guest, card, processors)
            started.append(subprocess.Popen(["ip", "netns", "exec", place.namespace, *command]))
        yield
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _qemu(guest: BareGuest, card: str, processors: int) -> list[str]:
    return [
        "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
        "-smp", str(processors), "-m", str(guest.memory), "-display", "none", "-monitor", "none", "-no-reboot",
        "-device", "virtio-rng-pci", "-drive", f"file={guest.disk},if=virtio,format=raw,cache=unsafe",
        "-netdev", f"tap,id=wire,ifname={card},script=no,downscript=no",
        "-device", f"virtio-net-pci,netdev=wire,mac={guest.mac}",
        "-serial", f"file:{guest.disk.with_suffix('.console')}", *guest.boot,
    ]  # fmt: skip
