"""Where an engine comes from: the Pulumi on PATH, a release of Pulumi, or a build from Go modules, in this order.

toolchain/release.py downloads and verifies a release, toolchain/go_build.py makes a build. Both are kept with checksums
in the user's cache, for all clones that pin the same versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums, go_build, plugins, release
from toolchain.engine import Engine, Source, Unfinished, finish
from toolchain.environment import locked_version

PLUGINS = ("kubernetes", "command")
"""Plugins that an engine needs. A build has a stand-in for the second; libvirt_provider.py installs libvirt's."""
PROVIDER = "home/plugins/resource-kubernetes-v*"
"""Pattern of the Kubernetes provider's directory in a built engine."""
INSTEAD = "or unset QUORATE_ENGINE, and the set-up installs a Pulumi for this project."


class UnsuitableError(Exception):
    """A source has no engine for this machine. The message says why, `remedy` what the user can do."""

    def __init__(self, reason: str, remedy: str, *, is_usual: bool = False) -> None:
        super().__init__(reason)
        self.remedy = remedy
        self.is_usual = is_usual
        """Whether the set-up goes on to the next source without a word."""


@dataclass(frozen=True)
class Wanted:
    """The engine that a clone requires: the lock file with its version, and the directories for its build."""

    venv: Path
    lock: Path
    modules: Path
    cache: Path

    @property
    def sdk(self) -> str:
        """The version of Pulumi's Python SDK, which an engine has to support."""
        return locked_version(self.lock, "pulumi")

    @property
    def kubernetes(self) -> str:
        return locked_version(self.lock, "pulumi-kubernetes")

    @property
    def sources(self) -> go_build.Sources:
        return go_build.Sources(self.modules, self.kubernetes)

    @property
    def release(self) -> release.Release:
        """The release with the version that is built where no release can be downloaded."""
        plugins = {name: locked_version(self.lock, f"pulumi-{name}") for name in PLUGINS}
        return release.Release(self.sources.pulumi, plugins)

    @property
    def sums(self) -> Path:
        """The file with the pinned checksums of releases."""
        return self.modules / release.SUMS

    @property
    def recipe(self) -> str:
        """Digest of what engines are made from. If it changes, `make setup` looks for an engine again."""
        return hashlib.sha256(self.sources.recipe.encode() + self.sums.read_bytes()).hexdigest()


def fits(found: str, pinned: str) -> bool:
    """Whether an engine of version `found` supports the pinned SDK: same minor release, or a newer 3.x."""
    have, want = go_build.version_of(found), go_build.version_of(pinned)
    return have[:1] == want[:1] and (have >= want or have[:2] == want[:2])


def ensure(wanted: Wanted, sources: Sequence[Source], reporter: Reporter) -> Engine:
    """Returns an engine from the first of the sources that has one. Raises UserError if no source does."""
    ways: dict[Source, Callable[[Wanted, Reporter], Engine]] = {
        "path": from_path,
        "download": from_release,
        "build": from_modules,
    }
    for source in sources:
        try:
            return ways[source](wanted, reporter)
        except UnsuitableError as reason:
            if source == sources[-1]:
                raise UserError(f"{reason}\n{reason.remedy}") from None
            if not reason.is_usual:
                reporter.say(str(reason))
    raise AssertionError("no source of an engine was given")


def from_path(wanted: Wanted, reporter: Reporter) -> Engine:
    """Returns the Pulumi on PATH. Raises UnsuitableError if there is none, or if it lacks a part that is needed."""
    needed = f"{wanted.sdk} or a newer 3.x"
    places = [place for place in os.get_exec_path() if place != str(wanted.venv / "bin")]
    found = (shutil.which("pulumi", path=place) for place in places)
    others = (Path(each) for each in found if each and wanted.cache not in Path(each).resolve().parents)
    pulumi = next(others, None)
    if not pulumi:
        raise UnsuitableError("There is no Pulumi on PATH.", f"Install Pulumi {needed}, {INSTEAD}", is_usual=True)
    try:
        version = run([pulumi, "version"], environment=_plain(), timeout=120)[-1].lstrip("v")
    except (ProgramError, IndexError) as failure:
        reason = f"The Pulumi on PATH does not work: `{pulumi} version` {_words(failure)}."
        raise UnsuitableError(reason, f"Install Pulumi {needed} again, {INSTEAD}") from None
    if not fits(version, wanted.sdk):
        reason = f"The Pulumi on PATH is {version}; this project needs {needed}."
        raise UnsuitableError(reason, f"Install such a version, {INSTEAD}")
    hosts = [str(pulumi.parent), str(pulumi.resolve().parent), *places]
    if not shutil.which("pulumi-language-python", path=os.pathsep.join(hosts)):
        reason = "The Pulumi on PATH has no Python language host (pulumi-language-python)."
        raise UnsuitableError(reason, f"Install Pulumi's complete release, which has it, {INSTEAD}")
    for name, plugin in wanted.release.plugins.items():
        _add_plugin(pulumi, name, plugin, wanted.sums, reporter)
    reporter.say(f"Using the Pulumi {version} on PATH.")
    return Engine("path", version, str(pulumi.parent), None, user_home=os.environ.get("PULUMI_HOME", ""))


def from_release(wanted: Wanted, reporter: Reporter) -> Engine:
    """Returns the release with the pinned checksums; downloads it if it is missing from the user's cache or damaged.

    Raises UnsuitableError if checksums are missing or the release cannot be downloaded, and UserError if an archive is
    not the pinned one.
    """
    base, wants = release.site(os.environ), wanted.release
    archives = wants.archives(release.read_sums(wanted.sums))
    if not wants.is_complete(archives):
        raise UnsuitableError(
            f"Pulumi {wants.engine} is not downloaded: {release.SUMS} has no checksums of it for this platform.",
            f"Add them (`python -m toolchain.release_sums --help`), {INSTEAD}",
            is_usual=release.SETTING not in os.environ,
        )
    pinned = json.dumps(sorted((archive.path, archive.sha256) for archive in archives.values()))
    home = wanted.cache / f"release-{hashlib.sha256(pinned.encode()).hexdigest()[:16]}"
    engine = Engine("download", wants.engine, str(home / "bin"), str(home / "home"))

    def download(partial: Path) -> list[Path]:
        reporter.begin(f"Downloading Pulumi {wants.engine} from {base}")
        files = {what: release.fetch(archive, base, partial, reporter) for what, archive in archives.items()}
        release.unpack(files["pulumi"], partial / "bin")
        for name, version in wants.plugins.items():
            go_build.install_provider(partial / "bin" / "pulumi", partial / "home", name, version, files[name])
        for file in files.values():
            file.unlink()
        reporter.end()
        return _programs(partial, "bin", "home/plugins/resource-*")

    try:
        _keep(engine, "downloading", download, reporter)
    except release.DownloadError as failure:
        reason = f"Pulumi {wants.engine} could not be downloaded ({failure})."
        remedy = f"Check the connection and the proxy, name a mirror ({release.SETTING}), {INSTEAD}"
        raise UnsuitableError(reason, remedy) from None
    except ProgramError as failure:
        reason = f"The downloaded Pulumi {wants.engine} does not run here: {_words(failure)}."
        raise UnsuitableError(reason, f"Set QUORATE_ENGINE=build, {INSTEAD}") from None
    return engine


def from_modules(wanted: Wanted, reporter: Reporter) -> Engine:
    """Returns the engine built from Go modules; builds it if it is missing from the user's cache or damaged."""
    sources = wanted.sources
    go = go_build.ensure_go(wanted.cache, wanted.modules / "go.lock", wanted.venv, sources.needed_go, reporter)
    home = wanted.cache / f"engine-{sources.digest(go)}"
    engine = Engine("build", sources.pulumi, str(home / "bin"), str(home / "home"))

    def build(partial: Path) -> list[Path]:
        reporter.say("Building Pulumi, once for all clones: about 10 minutes on two cores, less with a warm cache.")
        go_build.build(sources, go, partial, reporter)
        return _programs(partial, "bin", PROVIDER)

    _keep(engine, "building", build, reporter)
    return engine


def _keep(engine: Engine, doing: str, make: Callable[[Path], list[Path]], reporter: Reporter) -> None:
    """Makes an engine in the cache if it is missing or damaged. `make` fills a directory, and returns its programs."""
    home = engine.directory
    damaged = engine.damaged
    if damaged:
        reporter.say(f"Pulumi in the cache is damaged ({', '.join(damaged)}): {doing} it again.")
    if damaged or not checksums.exist(home):
        with Unfinished(home) as partial:
            checksums.write(partial, make(partial))
            finish(partial, home)


def _programs(home: Path, *places: str) -> list[Path]:
    """Returns the programs and scripts of an engine: the files in directories that match the patterns."""
    return sorted(path for place in places for path in home.glob(f"{place}/*") if path.is_file())


def _add_plugin(pulumi: Path, name: str, version: str, sums: Path, reporter: Reporter) -> None:
    """Installs a plugin for the Pulumi on PATH if it is missing. Raises UnsuitableError if it cannot be installed."""
    home = os.environ.get("PULUMI_HOME", "")
    where = f" in PULUMI_HOME ({home})" if home else ""
    try:
        plugins.ensure(pulumi, name, version, sums, reporter)
    except release.DownloadError as failure:
        raise UnsuitableError(
            f"The Pulumi on PATH has no plugin {name} {version}{where}, which could not be downloaded ({failure}).",
            f"Get the archive by other means and run `pulumi plugin install resource {name} {version} --file …`, "
            f"name a mirror ({release.SETTING}), {INSTEAD}",
        ) from None
    except ProgramError as failure:
        raise UnsuitableError(
            f"The Pulumi on PATH cannot install its plugin {name} {version}{where}: {_words(failure)}.",
            f"Set PULUMI_HOME to a directory that you can write, {INSTEAD}",
        ) from None


def _words(failure: ProgramError | IndexError) -> str:
    """Returns what a program said last, or how it ended."""
    if isinstance(failure, IndexError):
        return "prints nothing"
    said = [line.strip() for line in failure.output if line.strip()]
    return (said[-1] if said else str(failure)).removeprefix("error: ").rstrip(".")


def _plain() -> dict[str, str]:
    """Returns the user's environment with Pulumi's update check disabled."""
    return {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
