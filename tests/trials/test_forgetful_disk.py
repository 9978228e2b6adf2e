"""A disk that forgets: what was synced before a cut is there afterwards, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.trials.mount_namespace import mount_namespace
from trials import forgetful_disk
from trials.forgetful_disk import ForgetfulDisk

SIZE = 64 * 2**20


@pytest.fixture
def disk(tmp_path: Path) -> Generator[ForgetfulDisk]:
    """A mounted disk in a mount namespace of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    (tmp_path / "mounted").mkdir()
    with mount_namespace() as process:
        made = ForgetfulDisk(tmp_path / "disk", process, tmp_path / "mounted")
        made.make(SIZE)
        yield made


def place(disk: ForgetfulDisk) -> Path:
    return Path(f"/proc/{disk.pid}/root{disk.mount_point}")


def test_what_was_not_synced_is_gone_after_a_cut(disk: ForgetfulDisk) -> None:
    (place(disk) / "kept").write_text("kept")
    disk.sync()
    (place(disk) / "gone").write_text("gone")
    with (place(disk) / "kept").open("a") as file:
        file.write(" and gone")
    forgetful_disk.cut([disk])
    disk.remount()
    assert [path.name for path in place(disk).iterdir()] == ["kept"]
    assert (place(disk) / "kept").read_text() == "kept"


def test_a_disk_that_was_shut_down_accepts_nothing(disk: ForgetfulDisk) -> None:
    forgetful_disk.cut([disk])
    with pytest.raises(OSError, match="Input/output error"):
        (place(disk) / "late").write_text("late")


def test_a_new_disk_has_no_limit_of_another_one_before_it(disk: ForgetfulDisk) -> None:
    """A trial that was killed leaves its limit to the next disk on the loop device."""
    limits = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device")
    if not limits.exists():
        pytest.skip("this host has no control group of block I/O (version 1)")
    before = limits.read_text()
    disk.limit(5)
    assert limits.read_text() != before
    disk.remount()
    assert limits.read_text() == before
