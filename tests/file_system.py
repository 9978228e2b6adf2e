"""A small file system in memory, for tests of full disks."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

CANNOT_MOUNT = "no file system can be mounted here"


@contextmanager
def mounted(place: Path, mebibytes: int) -> Generator[None]:
    """Mounts an empty file system at a directory until the context ends. Skips the test where that is not possible."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip(CANNOT_MOUNT)
    words = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "test", place]
    if subprocess.run(words, check=False).returncode:
        pytest.skip(CANNOT_MOUNT)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)
