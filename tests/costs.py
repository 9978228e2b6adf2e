"""What each part of a test run costs.

`pytest -p tests.costs …` writes a line for each phase of a test to build/durations.tsv: seconds, seconds of processor
time, phase, outcome, test. Processor time is that of the test's process and of its programs that ended in the phase.
`python -m tests.costs` prints these lines as the table of docs/tests.md, a row for each folder of tests.
"""

from __future__ import annotations

import resource
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "build" / "durations.tsv"
SMALL = 30.0
"""Seconds below which folders share the last row."""
PROCESSOR = "seconds of processor time"
"""The property of a report that a process gives to the one that writes."""


def processor_time() -> float:
    """Returns the seconds of processor time of this process and of its children that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Meter:
    """Measures the processor time of each phase of a test."""

    def __init__(self) -> None:
        self.last = 0.0

    def pytest_runtest_logstart(self) -> None:
        self.last = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Adds the time since the end of the phase before."""
        report = yield
        now = processor_time()
        report.user_properties.append((PROCESSOR, now - self.last))
        self.last = now
        return report


def pytest_configure(config: pytest.Config) -> None:
    """Begins a new file. With several processes, each measures, and only the first one reports, so only it writes."""
    config.pluginmanager.register(Meter())
    if not hasattr(config, "workerinput"):
        FILE.parent.mkdir(exist_ok=True)
        FILE.unlink(missing_ok=True)
        config.pluginmanager.register(Recorder())


class Recorder:
    """Appends the duration of each phase that pytest reports."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Writes a line; a killed run leaves the lines until then."""
        with FILE.open("a", encoding="utf-8") as file:
            used = dict(report.user_properties)[PROCESSOR]
            file.write(f"{report.duration:.2f}\t{used:.2f}\t{report.when}\t{report.outcome}\t{report.nodeid}\n")


def table(lines: Iterable[str]) -> str:
    """Returns a Markdown table of folders with their number of tests and their minutes, the longest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    processor: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        duration, used, _, _, test = line.rstrip("\n").split("\t")
        folder = "/".join(test.partition("::")[0].split("/")[:2]).removesuffix(".py")
        seconds[folder] += float(duration)
        processor[folder] += float(used)
        tests[folder].add(test)
    large = sorted((folder for folder in seconds if seconds[folder] >= SMALL), key=lambda folder: -seconds[folder])
    rows = [(f"`{folder}`", [folder]) for folder in large]
    if small := [folder for folder in seconds if folder not in large]:
        rows.append(("all others", small))
    rows.append(("together", [*seconds]))
    text = "| part | tests | minutes of one process | minutes of processor time |\n| --- | ---: | ---: | ---: |\n"
    for name, folders in rows:
        count = sum(len(tests[each]) for each in folders)
        minutes, used = (sum(of[each] for each in folders) / 60 for of in (seconds, processor))
        text += f"| {name} | {count} | {minutes:.1f} | {used:.1f} |\n"
    return text


if __name__ == "__main__":
    sys.stdout.write(table(FILE.read_text(encoding="utf-8").splitlines()))
