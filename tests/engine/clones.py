"""A clone of the project in a temporary directory, with its own command line `quorate` and the engine of this one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.tree import OWNERS
from tests.engine.conftest import ROOT_SECRET_TEXT
from tests.stacks import ROOT, copy_sources
from toolchain.install import STATE
from toolchain.process_identity import read_identity

COMMAND = "import sys; sys.path[0] = '.'; from commands.command_line import main; sys.exit(main())"
TREE = ("manifests", "machines", "secrets")


@dataclass(frozen=True)
class Ended:
    """The result of a command: its exit code and output."""

    code: int
    output: str


@dataclass(frozen=True)
class Clone:
    """A clone with one stack."""

    root: Path
    stack: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables for commands. Those of Pulumi in the test's own environment are left out."""

    @classmethod
    def make(cls, root: Path, stack: str, source: Path) -> Clone:
        root.mkdir()
        copy_sources(root)
        (root / ".venv").symlink_to(ROOT / ".venv")
        shutil.copy(source, root / f"Pulumi.{stack}.yaml")
        clone = cls(root, stack)
        clone.build.mkdir(parents=True)
        (clone.build / ".root-secret").write_text(ROOT_SECRET_TEXT + "\n")
        return clone

    @property
    def stack_file(self) -> Path:
        return self.root / f"Pulumi.{self.stack}.yaml"

    @property
    def build(self) -> Path:
        return self.root / "build" / self.stack

    def start(self, verb: str, *options: str) -> subprocess.Popen[str]:
        """Starts a command in a session of its own, so that a signal reaches only it."""
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, verb, *options, "--stack", self.stack],
            cwd=self.root,
            # Without the settings of this clone's activated environment.
            env={name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
            | {**self.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, verb: str, *options: str) -> Ended:
        with self.start(verb, *options) as process:
            output, _ = process.communicate(timeout=600)
            return Ended(process.returncode, output)

    def up(self, *options: str) -> Ended:
        """Runs an `up` that must succeed."""
        done = self.run("up", *options)
        assert done.code == 0, done.output
        return done

    def disturbed_up(self, resources: int, number: signal.Signals, *, everything: bool = False) -> None:
        """An `up` that gets a signal after its update reported so many resources; waits for the end of the engine.

        `everything` also signals the engine and its guard: Ctrl-C of a terminal, or a machine that stops.
        """
        with self.start("up", "--verbose") as process:
            assert process.stdout
            updates = False
            for line in process.stdout:
                updates = updates or "Updating (" in line
                resources -= updates and line.startswith((" +  ", " ~  ", " -  "))
                if resources <= 0:
                    (os.killpg if everything else os.kill)(process.pid, number)
                    break
            process.stdout.read()  # to the end of the engine, which has the same output
            process.wait(timeout=120)
        deadline = time.monotonic() + 120
        while (engine := read_identity(self.build / ".engine.json")) and engine.is_running:
            assert time.monotonic() < deadline, "the engine outlives its command"
            time.sleep(0.1)

    def files(self) -> dict[str, str]:
        """Returns the texts of all files of the rendered tree, by path."""
        paths = sorted(path for area in TREE for path in (self.build / area).rglob("*"))
        return {
            str(path.relative_to(self.build)): path.read_text()
            for path in paths
            if path.is_file() and path.parent.name != OWNERS
        }

    def inputs(self) -> dict[str, Any]:
        """Returns the inputs of the resources in the state, by URN."""
        file = self.root / STATE / ".pulumi" / "stacks" / "quorate" / f"{self.stack}.json"
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return {each["urn"]: each.get("inputs") for each in document["checkpoint"]["latest"]["resources"]}

    def locks(self) -> list[Path]:
        return list((self.root / STATE / ".pulumi" / "locks").rglob("*.json"))
