"""The commands of the one who operates the lab's stack."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from console.errors import UserError
from trials.cloud import disks, ssh_access
from trials.cloud.lab_machines import Lab


@dataclass(frozen=True)
class Operator:
    """How `quorate` is run on the lab's stack."""

    lab: Lab
    quorate: Sequence[str]
    """Beginning of a command line, in the network in which the machines are reached."""
    stack: str
    environment: Mapping[str, str]

    def up(self) -> int:
        """Runs `quorate up`, and prepares new disks of OSDs meanwhile. Returns its exit code."""
        with disks.prepared(self.lab), self._started("up") as process:
            return process.wait()

    def asks(self, *words: str) -> tuple[int, str]:
        """Runs a command. Returns its exit code and what it has printed."""
        with self._started(*words, output=subprocess.PIPE) as process:
            said, _ = process.communicate()
        return process.returncode, said

    def runs(self, *words: str, say: Callable[[str], None]) -> None:
        """Runs a command, and passes its lines on. Raises UserError with all of them if it fails."""
        code, said = self._followed(words, say)
        if code:
            raise UserError(f"`quorate {' '.join(words[:2])}` failed:\n{said}")

    def is_killed(self, *words: str, at: str, say: Callable[[str], None]) -> None:
        """Runs a command and kills it when it prints a line in which `at`, a regular expression, is found.

        Raises UserError if it ends before.
        """
        _, said = self._followed(words, say, at)
        if not re.search(at, said, re.MULTILINE):
            raise UserError(f"`quorate {' '.join(words[:2])}` ended before it could be killed:\n{said}")

    def _followed(self, words: Sequence[str], say: Callable[[str], None], killed_at: str = "") -> tuple[int, str]:
        said = ""
        with self._started(*words, output=subprocess.PIPE) as process:
            for line in process.stdout or ():
                said += line
                say(line.strip())
                if killed_at and re.search(killed_at, line):
                    process.kill()
                    break
            return process.wait(), said

    @contextmanager
    def _started(self, *words: str, output: int | None = None) -> Generator[subprocess.Popen[str]]:
        line = [*self.quorate, *words, "--stack", self.stack]
        with ssh_access.agent() as agent:
            yield subprocess.Popen(
                line, env={**self.environment, **agent}, text=True, stdout=output, stderr=output and subprocess.STDOUT
            )
