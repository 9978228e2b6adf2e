"""A small guest, as kernel and initial RAM disk of images: Debian's cloud kernel, busybox and dropbear.

It boots within seconds without KVM, gets its address by DHCP, reads its metadata as cloud-init does, and admits the
user's SSH key. It needs no disk.
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
    packages=("busybox-static", "cpio", "dropbear-bin", "linux-image-cloud-amd64"),
    programs=("usr/bin/busybox", "usr/bin/cpio", "usr/sbin/dropbear"),
)
"""The Debian root from which the guest is taken."""
MODULES = ("failover", "net_failover", "virtio_net", "virtio_blk")
"""Kernel modules in the order in which they are loaded; the cloud kernel contains the others."""
_BUSYBOX = "usr/bin/busybox"
_PROGRAMS = ("usr/sbin/dropbear", "usr/bin/dropbearkey")
_INIT = Path(__file__).with_name("guest_init.sh")
_LEASE = Path(__file__).with_name("guest_lease.sh")


@dataclass(frozen=True)
class GuestImage:
    """The files of the guest's two images, and a program of the guest."""

    kernel: Path
    ramdisk: Path
    busybox: Path
    """A static program with ping, among others, for hosts that have none."""


def made_from(root: Path) -> GuestImage:
    """Returns the guest that is made from a Debian root; makes it beside the root if it is not there."""
    home = root.parent
    kernel = next((root / "boot").glob("vmlinuz-*"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (Path(__file__), _INIT, _LEASE))).hexdigest()[:12]
    ramdisk = home / f"guest-{digest}.cpio.gz"
    if not ramdisk.exists():
        with tempfile.TemporaryDirectory(dir=home) as work:
            tree = Path(work) / "tree"
            _fill(root, tree)
            packed = Path(work) / "ramdisk"
            _pack(root, tree, packed)
            packed.rename(ramdisk)
    return GuestImage(kernel, ramdisk, root / _BUSYBOX)


def _fill(root: Path, tree: Path) -> None:
    for name in ("bin", "dev", "etc/dropbear", "lib/modules", "mnt", "proc", "root/.ssh", "run", "sys", "tmp", "usr"):
        (tree / name).mkdir(parents=True)
    _copy(root / _BUSYBOX, tree / "bin/busybox")
    for program in _PROGRAMS:
        _copy(root / program, tree / program)
        for library in _libraries(root, program):
            _copy(root / library.lstrip("/"), tree / library.lstrip("/"))
    for module in MODULES:
        (packed,) = (root / "usr/lib/modules").rglob(f"{module}.ko.xz")
        (tree / f"lib/modules/{module}.ko").write_bytes(lzma.decompress(packed.read_bytes()))
    for name, source in (("init", _INIT), ("bin/lease", _LEASE)):
        _copy(source, tree / name)
        (tree / name).chmod(0o755)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (tree / "etc/shells").write_text("/bin/sh\n", encoding="utf-8")
    (tree / "etc/modules").write_text("".join(f"{module}\n" for module in MODULES), encoding="utf-8")


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
    loader, library = root / "lib64/ld-linux-x86-64.so.2", root / "usr/lib/x86_64-linux-gnu"
    cpio = [
        loader,
        "--library-path",
        library,
        root / "usr/bin/cpio",
        "--create",
        "--format=newc",
        "--owner=+0:+0",
        "--quiet",
    ]
    packed = subprocess.run([*map(str, cpio)], cwd=tree, input=names.encode(), capture_output=True, check=True).stdout
    with target.open("wb") as file:
        subprocess.run(["gzip", "-6", "-n"], input=packed, stdout=file, check=True)
