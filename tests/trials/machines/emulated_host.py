"""A host of the lab that QEMU emulates, because this one may have other cgroups: Debian 12 with cgroup v2 only.

It has no network. Its disks are made from directories, without mounts: its root, the Debian root of the lab's machines,
and what a trial runs. The kernel is started directly.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.stacks import ROOT

PROGRAMS = ("qemu-system-x86_64", "mke2fs", "debugfs")
PACKAGES = ("e2fsprogs", "qemu-system-x86")
MACHINE, TRIAL = "/machine", "/trial"
"""Where the host has the Debian root of the lab's machines, and what a trial runs."""
_DISK = "40G"
"""The root's size; the file is sparse. The lab asks for 23 GiB."""
_MEMORY = 3072
"""MiB; one machine with kubelet and a pod needs a third of it. Project figure."""
_PACKAGES = (
    "blueprint", "cluster", "components", "console", "files", "formats", "text", "toolchain", "trials",
)  # fmt: skip
_OTHER_FILES = ("contract.py", "tests/__init__.py", "tests/trials/__init__.py")
_LIBRARIES = (
    "_cffi_backend*", "annotated_types", "cryptography", "pydantic", "pydantic_core", "typing_extensions.py",
    "typing_inspection", "yaml",
)  # fmt: skip
"""What the lab's modules import."""
_UNIT = f"""\
[Unit]
Description=The trial
After=multi-user.target

[Service]
Type=oneshot
Environment=PYTHONPATH={TRIAL}/repository:{TRIAL}/libraries PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ExecStartPre=/bin/mkdir -p {MACHINE} {TRIAL}
ExecStartPre=/bin/mount -o ro /dev/vdb {MACHINE}
ExecStartPre=/bin/mount -o ro /dev/vdc {TRIAL}
ExecStart=/usr/bin/python3 -m tests.trials.machines.{{program}}
ExecStopPost=/usr/bin/systemctl --force --force poweroff
StandardOutput=file:/dev/ttyS1
StandardError=inherit
TimeoutStartSec=infinity

[Install]
WantedBy=default.target
"""


def stage(directory: Path) -> None:
    """Copies the repository's packages that a host of the lab needs, and their libraries, into `directory`."""
    repository, libraries = directory / "repository", directory / "libraries"
    for name in (*_PACKAGES, "tests/trials/machines"):
        shutil.copytree(ROOT / name, repository / name)
    for name in _OTHER_FILES:
        shutil.copy2(ROOT / name, repository / name)
    libraries.mkdir()
    site = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    for pattern in _LIBRARIES:
        for path in site.glob(pattern):
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, libraries / path.name)


def run(root: Path, machine: Path, trial: Path, program: str, limit: float) -> str:
    """Boots the host, runs a module beside this one as root in it, and returns what that printed.

    `root`, `machine`: Debian roots; `trial`: a directory that `stage` has filled. Its parent gets the disks.
    `limit`: seconds until the host must have switched itself off; raises subprocess.TimeoutExpired.
    """
    work = trial.parent
    disks = [work / f"{name}.ext4" for name in ("root", "machine", "trial")]
    for source, disk in zip((root, machine, trial), disks, strict=True):
        _make(source, disk, _DISK if source == root else f"{_mebibytes(source)}M")
    unit = work / "trial.service"
    unit.write_text(_UNIT.format(program=program), encoding="utf-8")
    etc = "/etc/systemd/system"
    _debugfs(disks[0], f"write {unit} {etc}/trial.service", f"mkdir {etc}/default.target.wants",
             f"symlink {etc}/default.target.wants/trial.service ../trial.service")  # fmt: skip
    said = work / "said"
    command = [*_qemu(root), *_drives(disks), "-serial", f"file:{work / 'console'}", "-serial", f"file:{said}"]
    subprocess.run(command, check=True, timeout=limit, stdin=subprocess.DEVNULL)
    for disk in disks:
        disk.unlink()
    return said.read_text(encoding="utf-8", errors="replace")


def _qemu(root: Path) -> list[str]:
    kernel, ramdisk = (next((root / "boot").glob(f"{name}-*")) for name in ("vmlinuz", "initrd.img"))
    line = "root=/dev/vda rw console=ttyS0 systemd.show_status=no"
    return [
        "nice", "-n", "19", "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
        "-smp", "2", "-m", str(_MEMORY), "-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none",
        "-device", "virtio-rng-pci", "-kernel", str(kernel), "-initrd", str(ramdisk), "-append", line,
    ]  # fmt: skip


def _drives(disks: Iterable[Path]) -> list[str]:
    return [word for disk in disks for word in ("-drive", f"file={disk},if=virtio,format=raw,cache=unsafe")]


def _mebibytes(directory: Path) -> int:
    """Returns the size of a disk for a directory: file systems need a tenth for themselves."""
    said = subprocess.run(["du", "-sm", directory], capture_output=True, text=True, check=True).stdout
    return int(said.split()[0]) * 6 // 5 + 64


def _make(source: Path, disk: Path, size: str) -> None:
    subprocess.run(["truncate", f"--size={size}", disk], check=True)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", source, disk], check=True, capture_output=True)


def _debugfs(disk: Path, *commands: str) -> None:
    subprocess.run(
        ["debugfs", "-w", "-f", "-", disk], input="\n".join(commands), text=True, check=True, capture_output=True
    )
