"""The image of a machine that Ironic deploys as a server of the stack: Debian 12 with sshd and cloud-init.

UEFI boots it. It has no SSH host key: cloud-init takes the key, and who may log in, from the config drive.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path

from trials.bare_metal.disk_tools import CONFIGURATION, LOADER, DiskTools, Partition

PROGRAMS = ("mke2fs", "debugfs", "ssh", "ssh-keygen")
PACKAGES = ("e2fsprogs", "openssh-client")
"""What this host needs beside the tools' root."""
EMULATED = ("tsc=reliable", "clocksource=tsc", "mitigations=off")
"""Kernel parameters for what an emulated processor is slow at: another clock than its own, and mitigations."""
USER_DATA = Path(__file__).parents[2] / "examples/user-data.sh"
"""Makes the host key and the user data of a machine, as an operator does."""
_BOOT_MIB, _SYSTEM_MIB = 128, 800
"""The system has half of its size free until its first boot: a deployment copies and checks every byte of the image."""
_LABEL = "system"
_FROM_DISK = f"search --no-floppy --set=root --file /initrd.img\nconfigfile /{CONFIGURATION}\n"
_START = f"""\
linux /vmlinuz root=LABEL={_LABEL} rw console=ttyS0 systemd.show_status=no {" ".join(EMULATED)}
initrd /initrd.img
boot
"""
_NETWORK = "05-management"
"""The file of systemd-networkd that the user data writes."""
_WANTS = "/etc/systemd/system/multi-user.target.wants"


def make(tools: DiskTools, root: Path, target: Path) -> None:
    """Writes the image, a whole disk in raw format. `root`: a Debian root (debian_root.SERVER_IMAGE)."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        boot, system = Path(scratch) / "boot", Path(scratch) / "system"
        _make_boot(tools, root, boot)
        _make_system(root, system)
        tools.write_disk(target, [Partition(boot, _BOOT_MIB, "uefi"), Partition(system, _SYSTEM_MIB, "linux")])


def _make_boot(tools: DiskTools, root: Path, target: Path) -> None:
    grub, configuration = target.with_name("grub"), target.with_name("grub.cfg")
    tools.make_grub(_FROM_DISK, grub)
    configuration.write_text(_START, encoding="utf-8")
    files = [(grub, LOADER), (configuration, CONFIGURATION)]
    files += [(next((root / "boot").glob(f"{name}-*")), name) for name in ("vmlinuz", "initrd.img")]
    tools.format_fat(target, _BOOT_MIB, files)


def _make_system(root: Path, target: Path) -> None:
    with target.open("wb") as file:
        file.truncate(_SYSTEM_MIB * 2**20)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-L", _LABEL, "-d", root, target], check=True)
    left = [f"rm /{path.relative_to(root)}" for path in (root / "etc/ssh").glob("ssh_host_*")]
    # netplan configures systemd-networkd, which Debian leaves disabled.
    unit = "systemd-networkd.service"
    text = "\n".join([*left, f"symlink {_WANTS}/{unit} /lib/systemd/system/{unit}", ""])
    subprocess.run(["debugfs", "-w", "-f", "-", target], input=text.encode(), check=True, capture_output=True)


@dataclass(frozen=True)
class NewServer:
    """A machine that will be a server of the stack, before its first boot."""

    name: str
    mac: str
    address: IPv4Interface
    gateway: str
    """Also its name server."""

    def make_user_data(self, directory: Path, login: str) -> tuple[Path, str]:
        """Makes an SSH host key and user data with it, as docs/openstack.md says. `login`: who may log in.

        Returns the file with the user data, and the public host key.
        """
        file = directory / "login.pub"
        file.write_text(login, encoding="utf-8")
        variables = {
            "name": self.name,
            "mac": self.mac,
            "address": str(self.address),
            "gateway": self.gateway,
            "nameserver": self.gateway,
            "login": str(file),
        }
        environment = {"PATH": os.environ["PATH"], **variables}
        subprocess.run(["sh", USER_DATA], cwd=directory, env=environment, check=True)
        return directory / f"{self.name}.yaml", (directory / f"{self.name}.pub").read_text(encoding="utf-8").strip()

    def has_own_address(self, told: Callable[[str], str]) -> bool:
        """Whether the running machine's network is that of its user data. `told`: as in `faults`."""
        return _NETWORK in told("networkctl status 'en*'")

    def faults(self, told: Callable[[str], str], root_gib: int) -> list[str]:
        """Returns what is wrong with the running machine after its first boot.

        `told`: runs a shell script on it, and returns its output; "" if it fails. `root_gib`: a GiB size that its root
        must exceed.
        """
        size = told("df --output=size -BG / | tail -n 1").rstrip("G")
        right = {
            f"its name is not {self.name}": told("hostname") == self.name,
            f"it does not have {self.address}": f"inet {self.address} " in told("ip -4 address"),
            f"its root has not grown: {size} GiB": int(size or 0) > root_gib,
            "it has a host key of its own": not told("ls /etc/ssh/ssh_host_* | grep -v ed25519"),
        }
        return [fault for fault, holds in right.items() if not holds]
