"""What each part of a test run costs.

`pytest -p tests.costs …` writes a line for each phase of a test to build/durations.tsv: seconds, phase, outcome, test.
`python -m tests.costs` prints these lines as the table of docs/tests.md, a row for each folder of tests.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "build" / "durations.tsv"
SMALL = 30.0
"""Seconds below which folders share the last row."""


def pytest_configure(config: pytest.Config) -> None:
    """Begins a new file. With several processes, only the first one reports, so only it writes."""
    if not hasattr(config, "workerinput"):
        FILE.parent.mkdir(exist_ok=True)
        FILE.unlink(missing_ok=True)
        config.pluginmanager.register(Recorder())


class Recorder:
    """Appends the duration of each phase that pytest reports."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Writes a line; a killed run leaves the lines until then."""
        with FILE.open("a", encoding="utf-8") as file:
            file.write(f"{report.duration:.2f}\t{report.when}\t{report.outcome}\t{report.nodeid}\n")


def table(lines: Iterable[str]) -> str:
    """Returns a Markdown table of folders with their number of tests and their minutes, the longest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        duration, _, _, test = line.rstrip("\n").split("\t")
        folder = "/".join(test.partition("::")[0].split("/")[:2]).removesuffix(".py")
        seconds[folder] += float(duration)
        tests[folder].add(test)
    large = sorted((folder for folder in seconds if seconds[folder] >= SMALL), key=lambda folder: -seconds[folder])
    rows = [(f"`{folder}`", len(tests[folder]), seconds[folder]) for folder in large]
    small = [folder for folder in seconds if folder not in large]
    if small:
        rows.append(("all others", sum(len(tests[each]) for each in small), sum(seconds[each] for each in small)))
    rows.append(("together", sum(map(len, tests.values())), sum(seconds.values())))
    head = "| part | tests | minutes of one process |\n| --- | ---: | ---: |\n"
    return head + "".join(f"| {name} | {count} | {spent / 60:.1f} |\n" for name, count, spent in rows)


if __name__ == "__main__":
    sys.stdout.write(table(FILE.read_text(encoding="utf-8").splitlines()))
