"""Finds or installs the Pulumi engine of this clone.

There are two sources: a suitable `pulumi` on PATH and, if there is none, a build from Go modules, which go.sum pins by
hash. Builds are stored with checksums in the user's cache, for all clones that pin the same versions. A manifest in the
Python environment names the engine that the commands use.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from toolchain import checksums, go_build
from toolchain.environment import locked_version
from toolchain.progress import ProgramError, Reporter, UserError, run

COMMAND_LAUNCHER = """\
#!/bin/sh
# Started by the engine. The provider belongs to the clone whose environment is active, so that clones share an engine.
provider=$(command -v quorate-command-provider) || {
    echo "This Pulumi runs commands in the project's environment: activate it (. .venv/bin/activate)." >&2
    exit 1
}
exec "${PULUMI_PYTHON_CMD:-python}" -P "$provider" "$@"
"""
Source = Literal["path", "build"]
MANIFEST = "quorate-engine.json"
PROVIDER = "home/plugins/resource-kubernetes-v*"
"""Pattern of the Kubernetes provider's directory in a built engine."""


@dataclass(frozen=True)
class Engine:
    """An installed Pulumi engine: the directory of its commands (`binaries`), and its PULUMI_HOME (`home`)."""

    source: Source
    version: str
    binaries: str
    home: str | None
    """PULUMI_HOME; None for a Pulumi found on PATH."""
    recipe: str = ""
    """Digest of the sources in the clone from which this engine was installed (Sources.recipe)."""

    @property
    def pulumi(self) -> Path:
        return Path(self.binaries) / "pulumi"

    @property
    def directory(self) -> Path:
        """The directory of a built engine in the user's cache."""
        return Path(self.binaries).parent

    @property
    def damaged(self) -> list[str]:
        """Files of a built engine that are missing or have changed; [] for an engine on PATH."""
        return checksums.damaged(self.directory) if self.source == "build" else []

    def add_command_provider(self, version: str) -> None:
        """Writes the launcher of the stand-in for pulumi-command, unless the engine is that of PATH.

        It is not part of the build, because it starts the active clone's program.
        """
        if self.home is None or self.has_command_provider(version):
            return
        launcher = self._command_provider(self.home, version)
        launcher.parent.mkdir(parents=True, exist_ok=True)
        unfinished = launcher.with_name(f".{launcher.name}.{os.getpid()}")
        unfinished.write_text(COMMAND_LAUNCHER, encoding="utf-8")
        unfinished.chmod(0o755)
        unfinished.replace(launcher)

    def has_command_provider(self, version: str) -> bool:
        """Whether the launcher of the stand-in is there, or the engine downloads the official provider."""
        try:
            return (
                self.home is None
                or self._command_provider(self.home, version).read_text(encoding="utf-8") == COMMAND_LAUNCHER
            )
        except OSError:
            return False

    @staticmethod
    def _command_provider(home: str, version: str) -> Path:
        return Path(home) / "plugins" / f"resource-command-v{version}" / "pulumi-resource-command"

    @property
    def is_there(self) -> bool:
        return self.pulumi.exists() and (self.home is None or Path(self.home).is_dir())

    def settings(self) -> dict[str, str]:
        """Returns the environment variables that this engine requires."""
        settings = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
        if self.home:
            settings["PULUMI_HOME"] = self.home
        if self.source == "build":
            # A built engine cannot download providers, and each attempt would take a minute.
            settings["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        return settings

    def keep_no_logs(self) -> None:
        """Stops a built engine from writing a log of every run, by creating a file in place of its log directory.

        Pulumi logs every property, encrypted and compressed, which takes half of its processor time and up to half a
        gigabyte. No option disables these logs, but Pulumi does not log if it cannot create the directory.
        """
        if self.home is None:
            return  # the user's own Pulumi is not changed
        logs = Path(self.home) / "logs"
        if logs.is_dir():
            shutil.rmtree(logs, ignore_errors=True)
        with suppress(OSError):  # another run has just created the directory again; the next set-up removes it
            logs.touch()

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Engine | None:
        """Returns the engine that a manifest describes; None if the manifest is invalid or the engine was deleted."""
        try:
            engine = cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return engine if engine.is_there else None


def installed(root: Path) -> Engine:
    """Returns the engine of a clone. Raises UserError if it is not installed or damaged."""
    engine = Engine.load(root / ".venv" / MANIFEST)
    if engine is None:
        raise UserError("Pulumi is not set up; run `make setup`.")
    if damaged := engine.damaged:
        raise UserError(
            f"Pulumi in {engine.directory} is damaged ({', '.join(damaged)}); `make setup` builds it again."
        )
    return engine


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


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Returns Quorate's cache directory, which all clones of a user share."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification ignores relative paths
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            raise UserError("Your user has no home directory. Set HOME or XDG_CACHE_HOME, then run it again.") from None
    return base / "quorate"


def fits(found: str, pinned: str) -> bool:
    """Whether an engine of version `found` supports the pinned SDK: same minor release, or a newer 3.x."""
    have, want = go_build.version_of(found), go_build.version_of(pinned)
    return have[:1] == want[:1] and (have >= want or have[:2] == want[:2])


def ensure(wanted: Wanted, sources: Iterable[Source], reporter: Reporter) -> Engine:
    """Returns an engine from the first of the sources that provides one. Raises UserError if no source does."""
    ways: dict[Source, Callable[[Wanted, Reporter], Engine | None]] = {
        "path": from_path,
        "build": from_modules,
    }
    for source in sources:
        engine = ways[source](wanted, reporter)
        if engine:
            return engine
    raise UserError("Pulumi could not be installed from the source that QUORATE_ENGINE names.")


def from_path(wanted: Wanted, reporter: Reporter) -> Engine | None:
    """Returns the Pulumi on PATH; None if it lacks a suitable version, a Python host or the Kubernetes provider."""
    places = [place for place in os.get_exec_path() if place != str(wanted.venv / "bin")]
    found = shutil.which("pulumi", path=os.pathsep.join(places))
    if not found or wanted.cache in Path(found).resolve().parents:
        return None
    pulumi = Path(found)
    try:
        version = run([pulumi, "version"], environment=_plain(), timeout=120)[-1].lstrip("v")
    except (ProgramError, IndexError):
        return None
    if not fits(version, wanted.sdk):
        reporter.say(f"The Pulumi on PATH is {version}; this project needs {wanted.sdk} or a newer 3.x.")
        return None
    if not any((each.parent / "pulumi-language-python").exists() for each in (pulumi, pulumi.resolve())):
        reporter.say("The Pulumi on PATH has no Python language host.")
        return None
    if not _has_provider(pulumi, None, wanted.kubernetes, reporter):
        return None
    reporter.say(f"Using the Pulumi {version} on PATH.")
    return Engine("path", version, str(pulumi.parent), None)


def from_modules(wanted: Wanted, reporter: Reporter) -> Engine:
    """Returns the engine built from Go modules; builds it if it is missing from the user's cache or damaged."""
    sources = wanted.sources
    go = go_build.ensure_go(wanted.cache, wanted.modules / "go.lock", wanted.venv, sources.needed_go, reporter)
    home = wanted.cache / f"engine-{sources.digest(go)}"
    engine = Engine("build", sources.pulumi, str(home / "bin"), str(home / "home"))
    if not checksums.exist(home):
        _record_earlier_build(home)
    damaged = engine.damaged
    if damaged:
        reporter.say(f"Pulumi in the cache is damaged ({', '.join(damaged)}): building it again.")
    if damaged or not checksums.exist(home):
        reporter.say("Building Pulumi, once for all clones: about 10 minutes on two cores, less with a warm cache.")
        with Unfinished(home) as partial:
            go_build.build(sources, go, partial, reporter)
            checksums.write(partial, _programs(partial))
            finish(partial, home)
    return engine


def _programs(home: Path) -> list[Path]:
    """Returns the programs and scripts of a built engine."""
    return sorted(path for place in ("bin", PROVIDER) for path in home.glob(f"{place}/*") if path.is_file())


def _record_earlier_build(home: Path) -> None:
    """Writes checksums for an engine that an earlier version of Quorate built without them, if its programs run."""
    programs = _programs(home)
    providers = list(home.glob(f"{PROVIDER}/pulumi-resource-kubernetes"))
    if not providers or not all(file.stat().st_size for file in programs):
        return
    environment = {**_plain(), "PULUMI_HOME": str(home / "home")}
    try:
        for command in ([home / "bin" / "pulumi", "version"], *([provider, "-h"] for provider in providers)):
            run(command, environment=environment, timeout=120)
    except ProgramError:
        return
    checksums.write(home, programs)


class Unfinished:
    """Yields a temporary directory, which finish() renames to `final`, or which is deleted when the context ends."""

    def __init__(self, final: Path) -> None:
        self._partial = final.with_name(final.name + ".partial")

    def __enter__(self) -> Path:
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir(parents=True)
        return self._partial

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)


def finish(partial: Path, final: Path) -> None:
    """Renames the complete directory `partial` to `final`, and replaces an earlier, damaged directory there."""
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)


def _has_provider(pulumi: Path, home: Path | None, version: str, reporter: Reporter) -> bool:
    try:
        go_build.install_provider(pulumi, home, "kubernetes", version)
    except ProgramError as failure:
        reporter.say(f"  Pulumi cannot download its Kubernetes provider {version} ({failure}).")
        return False
    return True


def _plain() -> dict[str, str]:
    """Returns the user's environment with Pulumi's update check disabled."""
    return {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
