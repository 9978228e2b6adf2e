"""`python -m tests.mutants [--seed N] [--count N]`: prints the score of a sample, and the changes that no test notices.

The seed of a day is its date, so that each night tries other changes. The report is in build/mutants/report.md too.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from console.errors import UserError
from console.exit_codes import exit_code
from console.programs import run
from console.progress import Reporter
from files import atomic
from tests.mutants import report
from tests.mutants.choice import Visits
from tests.mutants.sample import OPERATORS, PACKAGES, Mutant, read, sample
from tests.mutants.trial import COSMIC_RAY, VENV, MutantTrial, copy_project, mutate_and_test
from tests.mutants.visits import DIRECTORY
from toolchain.install import ROOT, ensure_beside

LOCK = ROOT / "requirements-mutants.lock"
WORK = ROOT / "build" / "mutants"
COUNT = 400
MINUTES = 50.0
"""After these, no further change is tried: with the recorded run before, an hour of two cores (project figure)."""
TESTS = ("tests/blueprint", "tests/policy", "tests/openstack")
LIGHT = "not (engine or cluster or services or browser or heavy or alone or waits)"
CONFIGURATION = f"""\
[cosmic-ray]
module-path = {list(PACKAGES)}
timeout = 60.0
excluded-modules = []
test-command = "true"

[cosmic-ray.distributor]
name = "local"
"""


def main(arguments: Sequence[str]) -> int:
    """Tries the sample, and returns 0, 1 if the score is below the goal, or 130 if interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", type=int, default=int(f"{datetime.now(UTC):%Y%m%d}"), help="which changes")
    parser.add_argument("--count", type=int, default=COUNT, help="how many changes")
    options = parser.parse_args(arguments)
    reporter = Reporter()
    return exit_code(lambda: try_sample(options.count, options.seed, reporter), reporter)


def try_sample(count: int, seed: int, reporter: Reporter) -> None:
    """Writes and prints the report of a sample. Raises UserError if tests noticed less than the goal."""
    ensure_beside(VENV, LOCK, reporter)
    copies = [WORK / f"copy{number}" for number in range(len(os.sched_getaffinity(0)))]
    for each in copies:
        copy_project(each)
    visits = recorded(copies[0], len(copies), reporter)
    chosen = sample(possible(copies[0], reporter), count, seed)
    trials = tried(chosen, visits, copies, reporter)
    text = report.text(trials, seed, len(chosen) - len(trials))
    atomic.write(WORK / "report.md", text)
    print(text, end="")
    if report.score(trials) < report.GOAL:
        raise UserError(f"Tests noticed less than {report.GOAL} % of the changes. Write tests for those above.")


def recorded(copy: Path, processes: int, reporter: Reporter) -> Visits:
    """Runs the tests of the packages in a copy, and returns which functions each of them ran."""
    directory = WORK / "visits"
    directory.mkdir(exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    reporter.begin("Recording which test runs which function", "5 to 10 minutes")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), "--dist", "worksteal", "-m", LIGHT]
    # A test that fails in a copy is left out: its exit code says nothing of a change.
    subprocess.run(
        [*command, "-p", "tests.mutants.visits", *TESTS],
        cwd=copy,
        env={**os.environ, DIRECTORY: str(directory)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    visits = Visits.load(copy, directory.glob("*.json"))
    reporter.end(f"{len(visits.seconds)} tests, {len(visits.functions)} functions")
    return visits


def possible(copy: Path, reporter: Reporter) -> list[Mutant]:
    """Returns all changes that may be tried. Raises UserError if cosmic-ray lacks a kind, ProgramError if it fails."""
    known = {name.strip().removeprefix("core/") for name in run([COSMIC_RAY, "operators"])}
    if not known >= OPERATORS:
        raise UserError(f"cosmic-ray has no {', '.join(sorted(OPERATORS - known))}. Change OPERATORS in sample.py.")
    reporter.begin("Listing the changes that cosmic-ray can make", "2 minutes")
    work = copy / "build"
    work.mkdir(exist_ok=True)
    configuration, session = work / "cosmic-ray.toml", work / "session.sqlite"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    run([COSMIC_RAY, "init", configuration, session], directory=copy)
    dump: list[str] = []
    run([COSMIC_RAY, "dump", session], directory=copy, on_line=dump.append)
    mutants = list(read(dump, copy))
    reporter.end(f"{len(mutants)} of {len(dump)}")
    return mutants


def tried(chosen: Sequence[Mutant], visits: Visits, copies: Sequence[Path], reporter: Reporter) -> list[MutantTrial]:
    """Tries changes, one in each copy at a time, until all are tried or the time is over."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for each in copies:
        free.put(each)
    trials: list[MutantTrial] = []
    deadline = time.monotonic() + 60 * MINUTES

    def attempt(mutant: Mutant) -> None:
        if time.monotonic() > deadline:
            return
        copy = free.get()
        try:
            trials.append(mutate_and_test(copy, mutant, visits.tests(mutant)))
        finally:
            free.put(copy)
        reporter.tick(f"{len(trials)} of {len(chosen)}, {report.score(trials):.0f} % noticed")

    reporter.begin("Trying changes", "50 minutes")
    with ThreadPoolExecutor(len(copies)) as pool:
        try:
            list(pool.map(attempt, chosen))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    reporter.end()
    return trials


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
