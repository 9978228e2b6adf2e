"""Stand-ins for the programs that the tools start: shell scripts on a PATH of their own, and a clone to run in.

They answer as the real programs do, so a test sees what the tool under test makes of that: its messages, its exit code,
and what it leaves on the disk. Nothing here reaches a network.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolchain.engine_sources import PLUGINS
from toolchain.environment import locked_version
from toolchain.go_build import Sources

ROOT = Path(__file__).resolve().parents[1]


def locked(package: str) -> str:
    """Returns the version that the lock file pins for a package."""
    return locked_version(ROOT / "requirements.lock", package)


LOCKED_PULUMI = locked("pulumi")
BUILT_PULUMI = Sources(ROOT / "toolchain" / "engine", "").pulumi
LOCKED_PACKAGES = sum(line[:1].isalpha() for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines())

# What the real ones print, cut to the lines that matter.
PIP_WITHOUT_NETWORK = """\
echo "Collecting annotated-types==0.8.0 (from -r requirements.lock (line 3))"
echo "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError: Failed to establish a new \
connection: [Errno -2] Name or service not known'"
echo "ERROR: Could not find a version that satisfies the requirement annotated-types==0.8.0 (from versions: none)"
exit 1"""
PIP_WORKS = 'echo "Collecting annotated-types==0.8.0"; echo "Installing collected packages: annotated-types"'
_LISTED = "; ".join(f"echo '{name}  resource  {locked(f'pulumi-{name}')}  1 MB'" for name in PLUGINS)
PULUMI = f"""\
[ "$1" != plugin ] || echo "$PULUMI_HOME $@" >> "$(dirname "$0")/asked"
case "$*" in
    version) echo "v{LOCKED_PULUMI}" ;;
    "plugin ls") {_LISTED} ;;
esac"""


def script(directory: Path, name: str, body: str) -> Path:
    """Writes a shell script as a command with this name."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class Clone:
    """A copy of the toolchain, with a Python environment whose Python is a shell script."""

    root: Path
    path: Path
    """The only directory on PATH beside the system's own."""
    cache: Path

    def python(self, pip: str) -> None:
        """Writes the environment's fake Python; `pip` is the shell code that answers a call of pip."""
        body = f"""\
case "$*" in
    *"import sys, pip"*) exit 0 ;;
    *"pip install"*go.lock*) {"exit 1" if pip == PIP_WORKS else pip} ;;
    *"pip install"*) {pip} ;;
esac"""
        script(self.root / ".venv" / "bin", "python", body)
        (self.root / ".venv" / "bin" / "activate").write_text("deactivate () {\n    :\n}\n", encoding="utf-8")

    def pulumi(self, version: str = LOCKED_PULUMI) -> None:
        """A Pulumi of the user's own, with its language host, on PATH."""
        script(self.path, "pulumi", PULUMI.replace(LOCKED_PULUMI, version))
        script(self.path, "pulumi-language-python", "")

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": f"{self.path}:/nowhere",
            "HOME": str(self.cache.parent),
            "XDG_CACHE_HOME": str(self.cache),
            "https_proxy": "http://127.0.0.1:9",  # refuses every connection
            **more,
        }

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A set-up in a process group of its own, as a terminal would start it."""
        return subprocess.Popen(
            [sys.executable, "-m", "toolchain.setup", *words],
            cwd=self.root,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Where the tests themselves run in the background, interrupts are ignored, and that is inherited.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        )

    def set_up(self, **more: str) -> tuple[int, str]:
        """Runs a set-up. Returns its exit code and its output."""
        process = self.start(**more)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    @property
    def leftovers(self) -> list[str]:
        """Returns the files that an unfinished build left in the cache."""
        return sorted(path.name for path in (self.cache / "quorate").glob("*.partial"))


def make_clone(place: Path) -> Clone:
    """A clone with the tools and the lock file of this one, and nothing else on its PATH than it is given."""
    root = place / "clone"
    for package in ("console", "toolchain"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "requirements.lock", root / "requirements.lock")
    clone = Clone(root, place / "path", place / "cache")
    script(clone.path, "dirname", f'exec {_real("dirname")} "$@"')
    script(clone.path, "sleep", f'exec {_real("sleep")} "$@"')
    return clone


def run(command: list[str | Path], environment: Mapping[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command. Returns its exit code and its output."""
    return subprocess.run(
        command, env=dict(environment), cwd=directory, capture_output=True, text=True, check=False, timeout=120
    )


def _real(name: str) -> str:
    found = shutil.which(name, path=os.defpath)
    assert found
    return found
