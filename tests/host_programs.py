"""Programs of Debian packages that tests run on this host."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Sequence

import pytest


def require(programs: Collection[str], packages: Sequence[str]) -> None:
    """Installs packages if a program is missing, as root on Debian or Ubuntu. Skips the test elsewhere.

    A machine of continuous integration then runs what a developer's own machine may leave out.
    """
    missing = [name for name in programs if not shutil.which(name)]
    if not missing:
        return
    lacks = f"this host has no {', '.join(missing)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip(f"{lacks}; install {' '.join(packages)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *words], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{lacks}, and apt-get {words[0]} failed")
