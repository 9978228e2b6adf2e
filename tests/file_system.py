"""File systems that tests mount: small ones in memory for full disks, and directories in a second place."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

CANNOT_MOUNT = "no file system can be mounted here"


def require_mounts() -> None:
    """Skips the test if this process is not root, or `mount` is not installed."""
    if os.getuid() != 0 or not shutil.which("mount"):
        pytest.skip(CANNOT_MOUNT)


@contextmanager
def mounted(place: Path, mebibytes: int) -> Generator[None]:
    """Mounts an empty file system at a directory until the context ends. Skips the test where that is not possible."""
    require_mounts()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "test", place], check=False).returncode:
        pytest.skip(CANNOT_MOUNT)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def bound(source: Path, place: Path) -> Generator[None]:
    """Mounts a directory in a second place until the context ends. Skips the test where that is not possible."""
    require_mounts()
    if subprocess.run(["mount", "--bind", source, place], check=False).returncode:
        pytest.skip(CANNOT_MOUNT)
    try:
        yield
    finally:
        if os.path.ismount(place):
            subprocess.run(["umount", place], check=True)
