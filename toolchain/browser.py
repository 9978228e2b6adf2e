"""Brings a Chromium for the tests of the audit's page: `python -m toolchain.browser`.

The first that is there: one on PATH, Debian's package (installed where this runs as root), the build that Playwright
downloads. Where none can be had, the tests of the page are left out and say so; QUORATE_BROWSER=required, as in
continuous integration, makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from toolchain.progress import ProgramError, Reporter, UserError, run

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APT_LIMIT, DOWNLOAD_LIMIT = 900, 300  # seconds
MISSING = (
    "There is no Chromium, and none could be brought: install your system's chromium package, then run this again. "
    "Without it the tests of the audit's page are left out."
)


def main() -> int:
    """Brings one where there is none; 0 unless one is required and cannot be had."""
    reporter = Reporter()
    if find() or _from_apt(reporter) or _from_playwright(reporter):
        return 0
    reporter.say(MISSING)
    return 1 if is_required() else 0


def is_required() -> bool:
    """Whether tests of the page must not be left out."""
    return os.environ.get("QUORATE_BROWSER") == "required"


def find() -> str | None:
    """The Chromium to use; None where there is none."""
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
        # Package lists come with an image or not at all; those of yesterday name files that are gone.
        run(["apt-get", "update"], environment=environment, timeout=APT_LIMIT)
        run(install, environment=environment, timeout=APT_LIMIT)
    except (ProgramError, UserError) as failure:
        reporter.say(f"  apt-get could not: {failure}")
        return False
    reporter.end()
    return find() is not None


def _from_playwright(reporter: Reporter) -> bool:
    reporter.begin("Downloading Playwright's Chromium", "a minute")
    try:
        run([sys.executable, "-m", "playwright", "install", "chromium"], timeout=DOWNLOAD_LIMIT)
    except (ProgramError, UserError):
        reporter.say("  its download site is out of reach")
        return False
    reporter.end()
    return find() is not None


if __name__ == "__main__":
    sys.exit(main())
