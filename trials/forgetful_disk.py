"""Disks that forget: a power cut that loses everything that a program has written and not synced.

A kill -9 alone leaves the page cache of the host, so that a program that never calls fsync loses nothing. Here each
member has an ext4 file system of its own on a loop device. A cut first shuts the file system down without flushing its
log, as `godown -f` of xfstests does; after that nothing reaches the device. A write cache inside of a disk, which
would also lose what was written to the device and not flushed, is not simulated.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN (Linux, include/uapi/linux/ext4.h)."""
_WITHOUT_LOG_FLUSH = struct.pack("I", 2)
"""EXT4_GOING_FLAGS_NOLOGFLUSH: the log in memory is not written."""
_LIMITS = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device")
_RELEASE = 60.0
"""Seconds until a file system must be unmounted everywhere after the programs on it were killed."""


@dataclass(frozen=True)
class ForgetfulDisk:
    """A disk in a sparse file, which is mounted in the mount namespace of a process."""

    file: Path
    pid: int
    """The process whose mount namespace has the disk."""
    mount_point: Path
    """Path in this namespace."""

    def make(self, size: int) -> None:
        """Makes an empty file system of `size` bytes, and mounts it."""
        create(self.file, size)
        self.mount()
        # A database takes each directory in its data directory for data.
        self._in_namespace("rmdir", f"{self.mount_point}/lost+found")
        self.sync()

    def mount(self) -> None:
        """Mounts the disk, and so replays its log. The loop device ends with the mount."""
        self._in_namespace("mount", "-t", "ext4", "-o", "loop", str(self.file), str(self.mount_point))
        if _LIMITS.exists():
            self.limit(0)  # a trial that was killed leaves the limit of its disk to the next one on the loop device

    def remount(self) -> None:
        """Unmounts the disk everywhere and mounts it again, as a machine does that starts after a power cut."""
        self._in_namespace("umount", str(self.mount_point))
        self.await_release()
        self.mount()

    def await_release(self) -> None:
        """Waits until the disk is mounted nowhere: the namespace of a killed program ends after its processes."""
        end = time.monotonic() + _RELEASE
        while self._device():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.file} is still mounted {_RELEASE:.0f} s after the power cut")
            time.sleep(0.05)

    def sync(self) -> None:
        """Writes everything to the disk, such as files that are not data of the program."""
        self._in_namespace("sync", "--file-system", str(self.mount_point))

    def open(self) -> int:
        """Returns a descriptor of the disk's root directory."""
        return os.open(f"/proc/{self.pid}/root{self.mount_point}", os.O_RDONLY | os.O_DIRECTORY)

    def limit(self, writes: int) -> None:
        """Lets the disk make so many writes a second, whoever asks for them; 0 for as many as it can.

        The limit is that of the root of the block I/O control group (version 1), where also the file system's log is
        written.
        """
        _LIMITS.write_text(f"{self._number()} {writes}\n", encoding="ascii")

    def _number(self) -> str:
        """Returns the number of the loop device, as the control group names it."""
        return Path("/sys/class/block", Path(self._device()).name, "dev").read_text(encoding="ascii").strip()

    def _device(self) -> str:
        """Returns the loop device of the disk; "" if it is not mounted."""
        found = subprocess.run(["losetup", "--associated", self.file], capture_output=True, text=True, check=True)
        return found.stdout.partition(":")[0].strip()

    def _in_namespace(self, *command: str) -> None:
        _run(["nsenter", f"--target={self.pid}", "--mount", *command])


def create(file: Path, size: int) -> None:
    """Makes a sparse file with an empty file system of `size` bytes. Raises FileExistsError if there is one."""
    with file.open("xb") as disk:
        disk.truncate(size)
    _run(["mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", str(file)])


def cut(disks: Sequence[ForgetfulDisk]) -> None:
    """Shuts disks down at the same moment: nothing that is written or synced from now on reaches them."""
    descriptors = [disk.open() for disk in disks]
    try:
        for descriptor in descriptors:
            fcntl.ioctl(descriptor, _SHUTDOWN, _WITHOUT_LOG_FLUSH)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
