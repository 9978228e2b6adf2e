"""Installs plugins for a Pulumi on PATH, in the user's own PULUMI_HOME.

In a network that drops packets, Pulumi itself would try for more than seven minutes (measured with 3.276.0).
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import release
from toolchain.go_build import install_provider

OVERRIDES = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES"
"""Pulumi's own setting for mirrors of plugins."""


def ensure(pulumi: Path, name: str, version: str, sums: Path, reporter: Reporter) -> None:
    """Installs a plugin, unless it is there. Its archive is verified if the file `sums` has the checksum.

    Raises DownloadError if it cannot be downloaded, ProgramError if Pulumi does not install it, and UserError if the
    archive has another checksum than the pinned one.
    """
    if _is_installed(pulumi, name, version):
        return
    wants = release.Release("", {name: version})
    reporter.begin(f"Installing the plugin {name} {version} for the Pulumi on PATH")
    with TemporaryDirectory() as folder:
        file = None
        if OVERRIDES not in os.environ and (path := wants.paths_here().get(name)):
            base, archive = release.site(os.environ), wants.archives(release.read_sums(sums)).get(name)
            if archive:
                file = release.fetch(archive, base, Path(folder), reporter)
            else:
                release.require(path, base)
        install_provider(pulumi, None, name, version, file)
    reporter.end()


def _is_installed(pulumi: Path, name: str, version: str) -> bool:
    """Whether Pulumi lists the plugin: a line of `pulumi plugin ls` begins with its name, kind and version."""
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        lines = run([pulumi, "plugin", "ls"], environment=environment, timeout=120)
    except ProgramError:
        return False  # the installation has the better message
    return any(line.split()[:3] == [name, "resource", version] for line in lines)
