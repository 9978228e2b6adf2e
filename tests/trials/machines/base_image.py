"""A small bootable disk image with Debian and cloud-init, as a base of virtual machines."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

PROGRAMS = ("mkfs.vfat", "mcopy", "syslinux", "mke2fs", "debugfs", "qemu-img", "sfdisk")
MBR = Path("/usr/lib/syslinux/mbr/mbr.bin")
BOOT_START, BOOT_MIB, ROOT_MIB = 1, 96, 1400
"""Start of the partition with the kernel, and sizes of both partitions, in MiB."""
UNITS = "/lib/systemd/system"
WANTS = "/etc/systemd/system/multi-user.target.wants"
LOADER = """\
DEFAULT debian
LABEL debian
  LINUX /vmlinuz
  INITRD /initrd.img
  APPEND root=/dev/vda2 rw console=ttyS0 net.ifnames=1 systemd.show_status=no
"""


def make(root: Path, image: Path) -> str:
    """Writes the image, in qcow2, from the root file system of a machine. Returns its SHA-256 digest.

    Needs no loop device: the kernel is on a FAT file system, which syslinux and mtools write without mounting it.
    """
    work = image.parent
    boot, system, raw = work / "boot.fat", work / "root.ext4", work / "disk.raw"
    _make_boot(root / "boot", boot)
    _run("truncate", f"--size={ROOT_MIB}M", system)
    _run("mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-d", root, system)
    # netplan configures systemd-networkd, which Debian leaves disabled.
    _run("debugfs", "-w", "-R", f"symlink {WANTS}/systemd-networkd.service {UNITS}/systemd-networkd.service", system)
    _run("truncate", f"--size={BOOT_START + BOOT_MIB + ROOT_MIB + 1}M", raw)
    table = f"label: dos\nstart={BOOT_START}MiB, size={BOOT_MIB}MiB, type=c, bootable\nsize={ROOT_MIB}MiB, type=83\n"
    subprocess.run(["sfdisk", "--quiet", raw], input=table, text=True, check=True, capture_output=True)
    _write(MBR, raw, 0)
    _write(boot, raw, BOOT_START)
    _write(system, raw, BOOT_START + BOOT_MIB)
    _run("qemu-img", "convert", "-O", "qcow2", raw, image)
    for path in (boot, system, raw):
        path.unlink()
    with image.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kernel(root: Path) -> tuple[Path, Path]:
    """Returns the kernel and the initial RAM disk of a root file system."""
    found = [next((root / "boot").glob(f"{name}-*")) for name in ("vmlinuz", "initrd.img")]
    return found[0], found[1]


def _make_boot(source: Path, target: Path) -> None:
    linux, initrd = kernel(source.parent)
    config = target.with_name("syslinux.cfg")
    config.write_text(LOADER, encoding="utf-8")
    _run("truncate", f"--size={BOOT_MIB}M", target)
    _run("mkfs.vfat", "-F", "32", target)
    for file, name in ((linux, "vmlinuz"), (initrd, "initrd.img"), (config, "syslinux.cfg")):
        _run("mcopy", "-i", target, file, f"::{name}")
    _run("syslinux", "--install", target)
    config.unlink()


def _write(source: Path, target: Path, mib: int) -> None:
    _run("dd", f"if={source}", f"of={target}", "bs=1M", f"seek={mib}", "conv=notrunc,sparse", "status=none")


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True)
