"""A small guest, as kernel, initial RAM disk and disk of images: Debian's cloud kernel, busybox and dropbear.

It boots within seconds without KVM, gets its address by DHCP, reads its metadata as cloud-init does, and admits the
user's SSH key.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from toolchain.debian_root import Root

ROOT = Root(
    packages=("busybox-static", "cpio", "dropbear-bin", "e2fsprogs", "linux-image-cloud-amd64"),
    programs=("usr/bin/busybox", "usr/bin/cpio", "usr/sbin/dropbear", "usr/sbin/mke2fs"),
)
"""The Debian root from which the guest is taken."""
MODULES = ("failover", "net_failover", "virtio_net", "virtio_blk", "llc", "stp", "garp", "mrp", "8021q")
"""Kernel modules in the order in which they are loaded; the cloud kernel contains the others."""
DISK = "16M"
"""Size of the guest's disk image, as mke2fs has it: the system takes a half."""
_BUSYBOX = "usr/bin/busybox"
_PROGRAMS = ("usr/sbin/dropbear", "usr/bin/dropbearkey", "usr/bin/lsblk")
_SUDO = '#!/bin/sh\nexec "$@"\n'
"""The only user is root; tempest's commands begin with sudo."""
_BOOT_SECTOR = b"Quorate's guest"
"""Text in the part that ext4 leaves to boot loaders: Python's tarfile, and so tempest, takes 512 zeros for a tar."""
_START, _INIT, _LEASE = (Path(__file__).with_name(f"{name}.sh") for name in ("start", "init", "lease"))


@dataclass(frozen=True)
class GuestImage:
    """The files of the guest's three images, and a program of the guest."""

    kernel: Path
    ramdisk: Path
    disk: Path
    busybox: Path
    """A static program with ping, among others, for hosts that have none."""


def made_from(root: Path) -> GuestImage:
    """Returns the guest that is made from a Debian root; makes it beside the root if it is not there."""
    home = root.parent
    kernel = next((root / "boot").glob("vmlinuz-*"))
    sources = (Path(__file__), _START, _INIT, _LEASE)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    ramdisk, disk = home / f"guest-{digest}.cpio.gz", home / f"guest-{digest}.ext4"
    if not disk.exists():
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            work = Path(scratch)
            _fill_ramdisk(root, work / "ramdisk")
            _pack(root, work / "ramdisk", ramdisk)
            _fill_disk(root, work / "disk")
            _format(root, work / "disk", work / "made")
            (work / "made").rename(disk)
    return GuestImage(kernel, ramdisk, disk, root / _BUSYBOX)


def _fill_ramdisk(root: Path, tree: Path) -> None:
    for name in ("bin", "dev", "etc", "lib/modules", "mnt"):
        (tree / name).mkdir(parents=True)
    _copy(root / _BUSYBOX, tree / "bin/busybox")
    for module in MODULES:
        (packed,) = (root / "usr/lib/modules").rglob(f"{module}.ko.xz")
        (tree / f"lib/modules/{module}.ko").write_bytes(lzma.decompress(packed.read_bytes()))
    _script(_START, tree / "init")
    (tree / "etc/modules").write_text("".join(f"{module}\n" for module in MODULES), encoding="utf-8")


def _fill_disk(root: Path, tree: Path) -> None:
    for name in ("bin", "dev", "etc/dropbear", "mnt", "proc", "root/.ssh", "run", "sys", "tmp", "usr"):
        (tree / name).mkdir(parents=True)
    _copy(root / _BUSYBOX, tree / "bin/busybox")
    for program in _PROGRAMS:
        _copy(root / program, tree / program)
        for library in _libraries(root, program):
            _copy(root / library.lstrip("/"), tree / library.lstrip("/"))
    for source, path in ((_INIT, "init"), (_LEASE, "bin/lease")):
        _script(source, tree / path)
    (tree / "usr/bin/sudo").write_text(_SUDO, encoding="utf-8")
    (tree / "usr/bin/sudo").chmod(0o755)
    (tree / "var").mkdir()
    (tree / "var/run").symlink_to("/run")
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (tree / "etc/shells").write_text("/bin/sh\n", encoding="utf-8")


def _script(source: Path, target: Path) -> None:
    _copy(source, target)
    target.chmod(0o755)


def _libraries(root: Path, program: str) -> list[str]:
    """Returns the paths of the shared libraries of a program, and of the loader."""
    lines = subprocess.run(["chroot", root, "ldd", f"/{program}"], capture_output=True, text=True, check=True).stdout
    return [word for line in lines.splitlines() for word in line.split() if word.startswith("/")]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _pack(root: Path, tree: Path, target: Path) -> None:
    """Packs a tree with the root's cpio, as the kernel reads it."""
    names = "\n".join(sorted(str(path.relative_to(tree)) for path in tree.rglob("*")))
    cpio = _of(root, "usr/bin/cpio", "--create", "--format=newc", "--owner=+0:+0", "--quiet")
    packed = subprocess.run(cpio, cwd=tree, input=names.encode(), capture_output=True, check=True).stdout
    with target.open("wb") as file:
        subprocess.run(["gzip", "-6", "-n"], input=packed, stdout=file, check=True)


def _format(root: Path, tree: Path, target: Path) -> None:
    """Makes a file system with a tree's files."""
    mke2fs = _of(root, "usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(target), DISK)
    subprocess.run(mke2fs, capture_output=True, check=True)
    with target.open("r+b") as file:
        file.write(_BOOT_SECTOR)


def _of(root: Path, program: str, *words: str) -> list[str]:
    """Returns the command line of a program of the root, with the root's libraries."""
    loader, libraries = root / "lib64/ld-linux-x86-64.so.2", root / "usr/lib/x86_64-linux-gnu"
    return [str(loader), "--library-path", str(libraries), str(root / program), *words]
