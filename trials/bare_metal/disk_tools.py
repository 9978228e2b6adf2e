"""Makes disks with UEFI's boot loader from files, without mounts or loop devices."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_MODULES = (
    "boot", "configfile", "echo", "efi_gop", "fat", "iso9660", "linux", "normal", "part_gpt", "search",
    "search_fs_file", "search_label", "serial", "terminal",
)  # fmt: skip
LOADER = "EFI/BOOT/BOOTX64.EFI"
"""Where UEFI looks for the boot loader of a disk."""
CONFIGURATION = "EFI/BOOT/grub.cfg"
_START_MIB = 1
"""Start of the first partition, in MiB."""


@dataclass(frozen=True)
class Partition:
    """A partition of a disk: its file system, its size in MiB, and its type as sfdisk names it."""

    content: Path
    mib: int
    kind: str


@dataclass(frozen=True)
class DiskTools:
    """The programs of a Debian root (debian_root.BARE_METAL), with its libraries."""

    root: Path

    def command(self, program: str, *words: str | Path) -> list[str | Path]:
        """Returns the command line of a program."""
        libraries = self.root / "usr/lib/x86_64-linux-gnu"
        return [self.root / "lib64/ld-linux-x86-64.so.2", "--library-path", libraries, self.root / program, *words]

    def run(self, program: str, *words: str | Path, text: str = "") -> None:
        """Runs a program, which must succeed. `text`: its input."""
        subprocess.run(self.command(program, *words), input=text.encode(), check=True, capture_output=True)

    def make_grub(self, script: str, target: Path) -> None:
        """Makes a boot loader that runs a script of GRUB."""
        early = target.with_suffix(".early")
        early.write_text(script, encoding="utf-8")
        flags = ["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-c", early, "-o", target]
        self.run("usr/bin/grub-mkimage", *flags, "-d", self.root / "usr/lib/grub/x86_64-efi", *_MODULES)

    def format_fat(self, target: Path, mib: int, files: Iterable[tuple[Path, str]]) -> None:
        """Makes a FAT file system of this size with files."""
        with target.open("wb") as file:
            file.truncate(mib * 2**20)
        self.run("usr/sbin/mkfs.vfat", target)
        self.run("usr/bin/mtools", "-c", "mmd", "-i", target, "::/EFI", "::/EFI/BOOT")
        for source, path in files:
            self.run("usr/bin/mtools", "-c", "mcopy", "-i", target, source, f"::/{path}")

    def write_disk(self, target: Path, partitions: Sequence[Partition]) -> None:
        """Writes a disk, in raw format, with a partition table (GPT) and these partitions."""
        with target.open("wb") as file:
            file.truncate((_START_MIB + sum(each.mib for each in partitions) + 1) * 2**20)
        start, lines = _START_MIB, ["label: gpt"]
        for each in partitions:
            lines.append(f"start={start}MiB, size={each.mib}MiB, type={each.kind}")
            start += each.mib
        self.run("usr/sbin/sfdisk", "--quiet", target, text="\n".join(lines) + "\n")
        start = _START_MIB
        for each in partitions:
            copy = ["dd", f"if={each.content}", f"of={target}", "bs=1M", f"seek={start}", "conv=notrunc,sparse"]
            subprocess.run([*copy, "status=none"], check=True)
            start += each.mib
