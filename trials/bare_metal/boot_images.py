"""The images of Ironic's trial: kernel and ramdisk with Ironic's agent, a UEFI boot loader, and a system to deploy.

All are made from Debian's packages, and the agent's Python packages from PyPI. A machine boots them without KVM.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolchain.openstack_programs import LOCKS
from trials.bare_metal import disk_tools
from trials.bare_metal.disk_tools import CONFIGURATION, LOADER, DiskTools, Partition

_AGENT = LOCKS / "agent.lock"
"""Lock file of the agent, for the Python of Debian 13."""
_PYTHON = "3.13"
_AGENT_START, _DEPLOYED_START = (Path(__file__).with_name(f"{name}.sh") for name in ("agent", "deployed"))
_LEASE = Path(__file__).parent.parent / "guest" / "lease.sh"
_LEFT_OUT = ("boot", "dev", "proc", "run", "sys", "usr/share/perl", "usr/share/zoneinfo", "var/cache", "var/lib/apt")
"""Directories of the root that the ramdisk does not need."""
_FROM_MEDIUM = f"search --no-floppy --set=root --label VMEDIA_BOOT_ISO\nconfigfile /{CONFIGURATION}\n"
"""What the loader of virtual media does: Ironic gives its medium this label, and writes the file on it."""
_FROM_DISK = f"search --no-floppy --set=root --file /deployed\nconfigfile /{CONFIGURATION}\n"
_DEPLOYED = "linux /vmlinuz console=ttyS0\ninitrd /ramdisk\nboot\n"
_ALIGNMENT = 4
"""Of the place at which the kernel expects a further archive, in bytes."""
_SYSTEM_MIB = 64
"""Size of the only partition of the system to deploy, in MiB."""


@dataclass(frozen=True)
class BootImages:
    """Files of the images."""

    kernel: Path
    ramdisk: Path
    loader: Path
    """A FAT file system with a UEFI boot loader, which Ironic puts on its virtual media."""
    disk: Path
    """A whole disk with a partition table and a boot loader, in raw format."""


@dataclass(frozen=True)
class Roots:
    """Directories of programs: Debian roots of the ramdisk and of tools, and an environment with uv."""

    ramdisk: Path
    tools: Path
    programs: Path

    @property
    def disk_tools(self) -> DiskTools:
        """What makes disks."""
        return DiskTools(self.tools)


def made_from(roots: Roots) -> BootImages:
    """Returns the images; makes them beside the root of the ramdisk if they are not there."""
    sources = (Path(__file__), Path(disk_tools.__file__), _AGENT, _AGENT_START, _DEPLOYED_START, _LEASE)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    home = roots.ramdisk.parent / f"images-{digest}"
    kernel = next((roots.ramdisk / "boot").glob("vmlinuz-*"))
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=roots.ramdisk.parent) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            _make_ramdisk(roots, Path(scratch) / "agent", made / "ramdisk")
            _make_loader(roots, made / "loader")
            _make_disk(roots, kernel, Path(scratch), made / "disk")
            made.rename(home)
    return BootImages(kernel, home / "ramdisk", home / "loader", home / "disk")


def with_files(roots: Roots, ramdisk: Path, files: dict[str, str], target: Path) -> None:
    """Writes a ramdisk with more files: the kernel unpacks one archive after the other."""
    with tempfile.TemporaryDirectory() as scratch:
        for path, text in files.items():
            file = Path(scratch) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        added = _packed(roots, Path(scratch))
    first = ramdisk.read_bytes()
    with target.open("wb") as file:
        file.write(first + bytes(-len(first) % _ALIGNMENT))
        file.write(added)


def _make_ramdisk(roots: Roots, tree: Path, target: Path) -> None:
    shutil.copytree(roots.ramdisk, tree, symlinks=True, ignore=_left_out(roots.ramdisk))
    for name in ("dev", "proc", "run", "sys"):
        (tree / name).mkdir()
    wanted = ["--python-version", _PYTHON, "--python-platform", "x86_64-unknown-linux-gnu", "--only-binary", ":all:"]
    install = [roots.programs / "bin/uv", "pip", "install", "--python", roots.programs / "bin/python", *wanted]
    _run(*install, "--target", tree / "opt/agent", "--require-hashes", "-r", _AGENT)
    _run("chroot", tree, "python3", "-m", "compileall", "-q", "/opt/agent", "/usr/lib/python3")
    _script(_AGENT_START, tree / "init")
    _script(_LEASE, tree / "usr/local/bin/lease")
    # Ironic would unpack zstd, and the machine reads all of the medium.
    with target.open("wb") as file:
        subprocess.run(["gzip", "-6", "-n"], input=_packed(roots, tree), stdout=file, check=True)


def _left_out(root: Path) -> Callable[[str, list[str]], list[str]]:
    """Returns what copytree asks for the names that it does not copy."""
    gone = {root / name for name in _LEFT_OUT}
    return lambda directory, names: [name for name in names if Path(directory) / name in gone]


def _make_loader(roots: Roots, target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        grub = Path(scratch) / "BOOTX64.EFI"
        roots.disk_tools.make_grub(_FROM_MEDIUM, grub)
        roots.disk_tools.format_fat(target, 4, [(grub, LOADER)])


def _make_disk(roots: Roots, kernel: Path, work: Path, target: Path) -> None:
    tree = work / "deployed"
    (tree / "bin").mkdir(parents=True)
    (tree / "dev").mkdir()
    shutil.copy2(roots.ramdisk / "usr/bin/busybox", tree / "bin/busybox")
    _script(_DEPLOYED_START, tree / "init")
    ramdisk, grub, configuration, mark = (work / name for name in ("ramdisk", "grub", "grub.cfg", "mark"))
    ramdisk.write_bytes(_packed(roots, tree))
    roots.disk_tools.make_grub(_FROM_DISK, grub)
    configuration.write_text(_DEPLOYED, encoding="utf-8")
    mark.touch()
    files = [
        (grub, LOADER),
        (configuration, CONFIGURATION),
        (kernel, "vmlinuz"),
        (ramdisk, "ramdisk"),
        (mark, "deployed"),
    ]
    system = work / "system"
    roots.disk_tools.format_fat(system, _SYSTEM_MIB, files)
    roots.disk_tools.write_disk(target, [Partition(system, _SYSTEM_MIB, "uefi")])


def _packed(roots: Roots, tree: Path) -> bytes:
    """Returns a tree as an archive that the kernel reads."""
    names = "\n".join(sorted(str(path.relative_to(tree)) for path in tree.rglob("*")))
    cpio = roots.disk_tools.command("usr/bin/cpio", "--create", "--format=newc", "--owner=+0:+0", "--quiet")
    return subprocess.run(cpio, cwd=tree, input=names.encode(), capture_output=True, check=True).stdout


def _script(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
