"""One change in a copy of the project: it is made, its tests run, and it is taken back."""

from __future__ import annotations

import difflib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from console.programs import run
from tests.mutants.sample import Mutant
from toolchain.install import ROOT

VENV = ROOT / ".venv-mutants"
COSMIC_RAY = VENV / "bin" / "cosmic-ray"
QUIET = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
LIMIT = 120
"""Seconds of processor time until a run of tests that takes a minute counts as one that does not end."""
PATIENCE = 600.0
"""The same for one that waits, in seconds: a busy machine is no reason."""


class Outcome(StrEnum):
    """What the tests did of a change."""

    NOTICED = "noticed"
    ENDLESS = "does not end"
    SURVIVED = "survived"
    UNSEEN = "no test runs it"
    NOT_RUN = "not run"

    @property
    def is_killed(self) -> bool:
        """Whether a test failed or was ended; a change that no test runs has survived."""
        return self in (Outcome.NOTICED, Outcome.ENDLESS)


@dataclass(frozen=True)
class MutantTrial:
    """A change, its difference as lines that begin with - and +, what became of it, and how many tests were to run."""

    mutant: Mutant
    change: tuple[str, ...]
    outcome: Outcome
    tests: int


def copy_project(into: Path) -> None:
    """Copies the files that git has or would add, and links this clone's environment. An older copy is removed."""
    shutil.rmtree(into, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    (into / ".venv").symlink_to(ROOT / ".venv")


def mutate_and_test(copy: Path, mutant: Mutant, tests: Sequence[str]) -> MutantTrial:
    """Makes a change in a copy and runs tests there. Raises ProgramError if cosmic-ray cannot make it."""
    file = copy / mutant.path
    before, times = file.read_text(encoding="utf-8"), file.stat()
    run([COSMIC_RAY, "apply", mutant.path, mutant.operator, str(mutant.occurrence)], directory=copy)
    try:
        after = file.read_text(encoding="utf-8")
        lines = tuple(
            line
            for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
            if line[0] in "+-" and line[:3] not in ("+++", "---")
        )
        outcome = _test(copy, tests) if tests else Outcome.UNSEEN
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # the bytecode of the change is of another time
    return MutantTrial(mutant, lines, outcome, len(tests))


def _test(copy: Path, tests: Sequence[str]) -> Outcome:
    """Runs tests until one fails. All processes of a run that does not end are killed."""
    arguments = copy / "build" / "tests.txt"
    arguments.parent.mkdir(exist_ok=True)
    arguments.write_text("\n".join(tests), encoding="utf-8")
    limited = ["sh", "-c", f'ulimit -t {LIMIT}; exec "$@"', "sh"]
    command = [*limited, sys.executable, "-m", "pytest", *QUIET, f"@{arguments}"]
    with subprocess.Popen(
        command, cwd=copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return Outcome.ENDLESS
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    # 1: a test failed, 2: a module could not be imported, 3: pytest was broken by it, 4: a case is not there any more
    known = {
        0: Outcome.SURVIVED,
        5: Outcome.NOT_RUN,
        -signal.SIGXCPU: Outcome.ENDLESS,
        -signal.SIGKILL: Outcome.ENDLESS,
    }
    return known.get(code, Outcome.NOTICED)
