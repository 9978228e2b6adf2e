"""A disk that the kernel counts: its own figures say that it is slow, or completes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from openstack.monitoring import disk_alerts
from tests.trials.mount_namespace import mount_namespace
from trials.counted_disk import CountedDisk
from trials.services.testbed import until

LIMITS = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device")
WRITE = "import os, sys; f = open(sys.argv[1], 'wb'); f.write(b'x' * 4096); f.flush(); os.fsync(f.fileno())"
PATIENCE = 60


class Figures(NamedTuple):
    completed: int
    now: int
    busy: float
    """Seconds in which the disk had a request."""


@pytest.fixture
def disk(tmp_path: Path) -> Generator[CountedDisk]:
    """A mounted disk in a mount namespace of its own, and no device of it afterwards."""
    if os.geteuid() != 0 or not LIMITS.exists():
        pytest.skip("only root mounts file systems, and limits need the control group of block I/O (version 1)")
    (tmp_path / "mounted").mkdir()
    with mount_namespace() as process:
        made = CountedDisk(tmp_path / "disk", process, tmp_path / "mounted")
        made.make(64 * 2**20)
        name = made.name
        yield made
    until("no device is left", lambda: not Path("/sys/class/block", name).exists(), PATIENCE)


def figures(disk: CountedDisk) -> Figures:
    """The kernel's figures of writes (Documentation/block/stat.rst)."""
    words = Path("/sys/class/block", disk.name, "stat").read_text(encoding="ascii").split()
    return Figures(int(words[4]), int(words[8]), int(words[9]) / 1000)


def write(disk: CountedDisk, name: str) -> subprocess.Popen[bytes]:
    path = f"/proc/{disk.pid}/root{disk.mount_point}/{name}"
    return subprocess.Popen([sys.executable, "-c", WRITE, path])


def test_a_slow_disk_completes_few_writes_in_a_busy_second(disk: CountedDisk) -> None:
    write(disk, "fast").wait()
    disk.limit(5)
    before = figures(disk)
    for number in range(3):
        assert write(disk, f"slow-{number}").wait(PATIENCE) == 0
    after = figures(disk)
    assert after.completed > before.completed
    assert (after.completed - before.completed) / (after.busy - before.busy) < disk_alerts.SLOWEST


def test_a_disk_that_completes_nothing_is_busy(disk: CountedDisk) -> None:
    disk.halt(on=True)
    before = figures(disk)
    waiting = write(disk, "late")
    until("the disk has a request", lambda: figures(disk).now, PATIENCE, 0.1)
    until("it is busy", lambda: figures(disk).busy > before.busy + 1, PATIENCE, 0.1)
    assert figures(disk).completed == before.completed
    assert waiting.poll() is None
    disk.halt(on=False)
    assert waiting.wait(PATIENCE) == 0
    assert figures(disk).completed > before.completed
