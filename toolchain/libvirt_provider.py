"""Installs Pulumi's libvirt provider, which only live stacks with virtual machines need.

A Pulumi on PATH downloads the official one. A downloaded engine gets the official one if its checksum is pinned.
Otherwise, the provider is built from Go modules, which go.sum pins by hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from toolchain import checksums, plugins, release
from toolchain.engine import Engine, Unfinished, cache_directory, finish
from toolchain.environment import locked_version
from toolchain.go_build import Build, Go, ensure_go, install_provider, version_of
from toolchain.install import LOCK, ROOT, VENV, alone

NAME = "libvirt"
MODULE = ROOT / "toolchain" / "engine" / NAME
PROGRAM = "pulumi-resource-libvirt"
HELPERS = {"xsltproc": "xsltproc", "mkisofs": "genisoimage"}
"""Programs that the provider starts on this host, each with the Debian package that has it."""


def ensure(engine: Engine, reporter: Reporter) -> None:
    """Installs the provider for an engine, and checks that this host has the programs that it starts.

    Raises UserError if a program is missing, or if the provider can be neither downloaded nor built.
    """
    if missing := [package for program, package in HELPERS.items() if not shutil.which(program)]:
        raise UserError(
            f"Pulumi's libvirt provider needs programs of {' and '.join(missing)} on this host; install them "
            f"(apt-get install {' '.join(missing)}), then run the same command again."
        )
    version = locked_version(LOCK, "pulumi-libvirt")
    if engine.home is None:
        try:
            plugins.ensure(engine.pulumi, NAME, version, MODULE.parent / release.SUMS, reporter)
        except (ProgramError, release.DownloadError) as failure:
            raise UserError(f"Pulumi cannot install its libvirt provider {version}: {failure}") from None
    elif not (plugin := Path(engine.home) / "plugins" / f"resource-{NAME}-v{version}" / PROGRAM).exists():
        cache = cache_directory(os.environ)
        with alone(cache / NAME, reporter):
            if not plugin.exists():
                with TemporaryDirectory() as folder:
                    found = _downloaded(engine, version, Path(folder), reporter) or _built(cache, version, reporter)
                    install_provider(engine.pulumi, Path(engine.home), NAME, version, found)


def _downloaded(engine: Engine, version: str, folder: Path, reporter: Reporter) -> Path | None:
    """Returns the archive of the official provider for a downloaded engine; None if it has to be built.

    Raises UserError if the archive has another checksum than the pinned one.
    """
    if engine.source != "download":
        return None
    sums = release.read_sums(MODULE.parent / release.SUMS)
    archive = release.Release(engine.version, {NAME: version}).archives(sums).get(NAME)
    if not archive:
        return None
    try:
        reporter.begin(f"Downloading the libvirt provider {version}")
        return release.fetch(archive, release.site(os.environ), folder, reporter)
    except release.DownloadError as failure:
        reporter.say(f"The libvirt provider {version} could not be downloaded ({failure}).")
        return None


def _built(cache: Path, version: str, reporter: Reporter) -> Path:
    """Returns the provider's program; builds it if it is missing from the user's cache or damaged."""
    go = ensure_go(cache, MODULE.parent / "go.lock", VENV, _needed_go(), reporter)
    home = cache / f"{NAME}-{digest(go, version)}"
    if not checksums.exist(home) or checksums.damaged(home):
        with Unfinished(home) as partial:
            build = Build(
                what=f"the libvirt provider {version}",
                expectation="about a minute on two cores",
                module=MODULE,
                package=".",
                output=partial / PROGRAM,
                variable=f"main.version={version}",
            )
            build.run(go, reporter)
            checksums.write(partial, [partial / PROGRAM])
            finish(partial, home)
    return home / PROGRAM


def digest(go: Go, version: str) -> str:
    """Returns the digest of the provider's sources, which names its build."""
    made_from = hashlib.sha256()
    for path in sorted(MODULE.iterdir()):
        made_from.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    made_from.update(json.dumps([go.name, go.system, version]).encode())
    return made_from.hexdigest()[:16]


def _needed_go() -> tuple[int, ...]:
    lines = (MODULE / "go.mod").read_text(encoding="utf-8").splitlines()
    return next(version_of(line.split()[1]) for line in lines if line.startswith("go "))
