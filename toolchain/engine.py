"""The Pulumi engine of this clone, which a manifest in the Python environment describes.

toolchain/engine_sources.py finds or installs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from console.errors import UserError
from console.programs import run
from toolchain import checksums

COMMAND_LAUNCHER = """\
#!/bin/sh
# Started by the engine. The provider belongs to the clone whose environment is active, so that clones share an engine.
provider=$(command -v quorate-command-provider) || {
    echo "This Pulumi runs commands in the project's environment: activate it (. .venv/bin/activate)." >&2
    exit 1
}
exec "${PULUMI_PYTHON_CMD:-python}" -P "$provider" "$@"
"""
Source = Literal["path", "download", "build"]
MANIFEST = "quorate-engine.json"


@dataclass(frozen=True)
class Engine:
    """An installed Pulumi engine: the directory of its commands (`binaries`), and its PULUMI_HOME (`home`)."""

    source: Source
    version: str
    binaries: str
    home: str | None
    """PULUMI_HOME; None for a Pulumi found on PATH."""
    recipe: str = ""
    """Digest of the sources in the clone from which this engine was installed (Wanted.recipe)."""
    user_home: str = ""
    """PULUMI_HOME of the user with which the set-up checked a Pulumi on PATH; empty if it was not set."""

    @property
    def pulumi(self) -> Path:
        return Path(self.binaries) / "pulumi"

    @property
    def directory(self) -> Path:
        """The directory of a built or downloaded engine in the user's cache."""
        return Path(self.binaries).parent

    @property
    def damaged(self) -> list[str]:
        """Files of an engine in the cache that are missing or have changed; [] for an engine on PATH."""
        return [] if self.source == "path" else checksums.damaged(self.directory)

    def add_command_provider(self, version: str) -> None:
        """Writes the launcher of the stand-in for pulumi-command, unless the engine has the official provider.

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
        """Whether the launcher of the stand-in is there, or the engine has or downloads the official provider."""
        try:
            return (
                self.home is None
                or self.source == "download"
                or self._command_provider(self.home, version).read_text(encoding="utf-8") == COMMAND_LAUNCHER
            )
        except OSError:
            return False

    @staticmethod
    def _command_provider(home: str, version: str) -> Path:
        return Path(home) / "plugins" / f"resource-command-v{version}" / "pulumi-resource-command"

    def is_elsewhere(self, environment: Mapping[str, str]) -> bool:
        """Whether a Pulumi on PATH uses another PULUMI_HOME than the one that the set-up checked."""
        return self.source == "path" and self.user_home != environment.get("PULUMI_HOME", "")

    @property
    def is_there(self) -> bool:
        return self.pulumi.exists() and (self.home is None or Path(self.home).is_dir())

    def settings(self) -> dict[str, str]:
        """Returns the environment variables that this engine requires."""
        settings = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
        if self.home:
            settings["PULUMI_HOME"] = self.home
        if self.source != "path":
            # The set-up installs the providers. Pulumi would download further ones without a checksum, and where it
            # cannot, each attempt would take a minute.
            settings["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        return settings

    def keep_no_logs(self) -> None:
        """Stops an engine in the cache from writing a log of every run: creates a file in place of its log directory.

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
    if engine.is_elsewhere(os.environ):
        raise UserError(
            f"PULUMI_HOME is {os.environ.get('PULUMI_HOME') or 'not set'}; it was {engine.user_home or 'not set'} when "
            "`make setup` installed the plugins of the Pulumi on PATH. Set it back, or run `make setup`."
        )
    if damaged := engine.damaged:
        raise UserError(
            f"Pulumi in {engine.directory} is damaged ({', '.join(damaged)}); `make setup` installs it again."
        )
    return engine


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Returns Quorate's cache directory, which all clones of a user share."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification ignores relative paths
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            raise UserError("Your user has no home directory. Set HOME or XDG_CACHE_HOME, then run it again.") from None
    return base / "quorate"


MOUNTS = Path("/proc/self/mounts")


class Unfinished:
    """Yields a temporary directory, which finish() renames to `final`, or which is deleted when the context ends."""

    def __init__(self, final: Path) -> None:
        self._partial = final.with_name(final.name + ".partial")

    def __enter__(self) -> Path:
        _unmount_below(self._partial)
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir(parents=True)
        return self._partial

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)


def _unmount_below(directory: Path) -> None:
    """Unmounts what an interrupted run left mounted, so that nothing is deleted through a mount.

    Raises ProgramError if something cannot be unmounted.
    """
    if not MOUNTS.exists():  # not Linux: nothing here mounts
        return
    for line in reversed(MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()):
        escaped = line.split(" ")[1]  # a later mount may be below an earlier one; a space is written as an octal number
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), escaped))
        if point.is_relative_to(directory):
            run(["umount", point])


def finish(partial: Path, final: Path) -> None:
    """Renames the complete directory `partial` to `final`, and replaces an earlier, damaged directory there."""
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
