"""Installs Chromium for the tests of the audit page: `python -m toolchain.browser`.

Nothing is installed if Chromium is on PATH or was downloaded before. Otherwise root installs Debian's package, and if
that is not possible, Playwright downloads Chromium. Without Chromium, the tests of the page are skipped; with
QUORATE_BROWSER=required, as in CI, they fail.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APT_LIMIT, DOWNLOAD_LIMIT = 900, 300  # seconds
MISSING = (
    "Chromium could not be installed: install your system's chromium package, then run this again. "
    "Without it the tests of the audit page are skipped."
)


def main() -> int:
    """Installs Chromium if it is missing. Returns 1 if Chromium is required and cannot be installed, otherwise 0."""
    reporter = Reporter()
    if find() or _from_apt(reporter) or _from_playwright(reporter):
        return 0
    reporter.say(MISSING)
    return 1 if is_required() else 0


def is_required() -> bool:
    """Whether the tests of the audit page fail without Chromium, instead of being skipped."""
    return os.environ.get("QUORATE_BROWSER") == "required"


def find() -> str | None:
    """Returns the path of an installed Chromium, or None if there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or _downloaded()


def _downloaded() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _from_apt(reporter: Reporter) -> bool:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    reporter.begin("Installing Debian's chromium", "one to three minutes")
    try:
        # The package lists of an image may be missing or name deleted files.
        run(["apt-get", "update"], environment=environment, timeout=APT_LIMIT)
        run(install, environment=environment, timeout=APT_LIMIT)
    except (ProgramError, UserError) as failure:
        reporter.say(f"  apt-get failed: {failure}")
        return False
    reporter.end()
    return find() is not None


def _from_playwright(reporter: Reporter) -> bool:
    reporter.begin("Downloading Playwright's Chromium", "a minute")
    try:
        run([sys.executable, "-m", "playwright", "install", "chromium"], timeout=DOWNLOAD_LIMIT)
    except (ProgramError, UserError):
        reporter.say("  the download site is not reachable")
        return False
    reporter.end()
    return find() is not None


if __name__ == "__main__":
    sys.exit(main())
