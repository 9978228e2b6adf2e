"""Disks whose slowness is in the kernel's figures of them (/proc/diskstats), as that of a real disk.

A limit of the block I/O control group holds a request back before the device has it, so that the device's own figures
show nothing. Here a second loop device is on the limited one, and has requests for as long as that takes. The file
system is on a partition of it, because node-exporter leaves out loop devices.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from trials.forgetful_disk import ForgetfulDisk

_BYTES = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")


@dataclass(frozen=True)
class CountedDisk(ForgetfulDisk):
    """A disk in a sparse file, which the kernel counts by the name of a partition."""

    def mount(self) -> None:
        """Mounts the disk, and so replays its log. Both loop devices end with the mount."""
        lower = _attach(str(self.file))
        upper = _attach("--direct-io=on", "--partscan", lower)
        sectors = _output("blockdev", "--getsz", upper)
        _output("addpart", upper, "1", "0", sectors)
        self._in_namespace("mount", "-t", "ext4", f"{upper}p1", str(self.mount_point))
        for device in (upper, lower):  # from now on, each is detached when nothing uses it
            _output("losetup", "--detach", device)
        self.limit(0)
        self.halt(on=False)

    @property
    def name(self) -> str:
        """The name by which the kernel counts the disk."""
        upper = _output("losetup", "--noheadings", "--output=NAME", "--associated", self._device())
        return f"{Path(upper).name}p1"

    def halt(self, *, on: bool) -> None:
        """Lets the disk complete no write, or as many as `limit` lets it: one block takes more than an hour."""
        _BYTES.write_text(f"{self._number()} {int(on)}\n", encoding="ascii")


def _attach(*words: str) -> str:
    return _output("losetup", "--find", "--show", *words)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
