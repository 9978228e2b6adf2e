"""Installs the programs of an OpenStack release from PyPI, and stores them in the user's cache.

Tests start the real services with rendered configuration, and toolchain/option_lists.py lists the services' options. To
deploy a stack, these programs are not needed. Each release has its own environment, because releases require different
libraries.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

from console.errors import UserError
from console.exit_codes import exit_code
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain.engine import cache_directory
from toolchain.environment import locked_version, pip_error, pip_install
from toolchain.install import ROOT, alone

LOCKS = ROOT / "toolchain" / "openstack"
INSTALLER = LOCKS / "uv.lock"
"""Lock file of uv, which installs 270 packages in half a minute; pip takes more than five minutes."""
BUILD = LOCKS / "build.lock"
"""Lock file of the build tools for the two packages without wheels on PyPI."""
DEFAULT = "2026.1"
"""The release of a stack that names none, whose services the tests run. Other releases are used for their option lists
and to validate rendered configuration."""
_COMPLETE = "quorate-complete"


def ensure(release: str, reporter: Reporter) -> Path:
    """Returns the directory of a release's environment; installs the environment if the cache does not have it."""
    lock = LOCKS / f"{release}.lock"
    if not lock.exists():
        raise UserError(f"OpenStack {release} is not known; write one of: {', '.join(releases())}")
    cache = cache_directory(os.environ)
    with alone(cache / "openstack", reporter):
        home = cache / f"openstack-{release}-{digest(lock)}"
        if not (home / _COMPLETE).exists():
            _install(home, lock, reporter)
            (home / _COMPLETE).touch()  # last: without this file, the next run installs again
    return home


def releases() -> list[str]:
    """Returns the OpenStack releases that can be installed, such as 2026.1, oldest first."""
    return sorted(lock.stem for lock in LOCKS.glob("20*.lock"))


def digest(lock: Path) -> str:
    """Returns the digest of lock files and Python version, which names an environment that clones share."""
    made_from = hashlib.sha256(f"{sys.base_prefix} {sys.version}".encode())
    for file in (lock, INSTALLER, BUILD):
        made_from.update(file.read_bytes())
    return made_from.hexdigest()[:16]


def _install(home: Path, lock: Path, reporter: Reporter) -> None:
    packages = len(re.findall(r"^[\w.\[\]-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    what = f"OpenStack {lock.stem} (nova {locked_version(lock, 'nova')}, {packages} packages)"
    reporter.begin(f"Installing {what}", "a minute, once for all clones")
    try:
        run([sys.executable, "-m", "venv", "--clear", home])
        run([*pip_install(home), "-r", INSTALLER])
        install = [home / "bin" / "uv", "pip", "install", "--python", home / "bin" / "python", "--require-hashes"]
        run([*install, "--build-constraints", BUILD, "-r", lock])
    except ProgramError as failure:
        raise pip_error(failure, what) from None
    reporter.end()


def main() -> int:
    """`python -m toolchain.openstack_programs [release]`: installs the programs and prints their directory."""
    reporter = Reporter()
    release = sys.argv[1] if len(sys.argv) > 1 else DEFAULT
    return exit_code(lambda: print(ensure(release, reporter) / "bin"), reporter)


if __name__ == "__main__":
    sys.exit(main())
