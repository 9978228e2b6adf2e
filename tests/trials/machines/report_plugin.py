"""A plugin of pytest that writes build/machines/report.json and report.md (`make machines`).

A test gives its figures by `record_property(PROOF, proof)`. A test without figures is a proof without writes.
"""

from __future__ import annotations

import re

import pytest

from tests.stacks import ROOT
from trials import trial_report
from trials.cloud.drill.result import Writes
from trials.trial_report import Proof, without_writes

PROOF = "proof"
"""The name of the property of a test that holds a proof."""
DIRECTORY = ROOT / "build" / "machines"


def proof_of(name: str, writes: Writes, seconds: float, *, has_writes: bool = True) -> Proof:
    """Returns the proof of a trial in which a client wrote, or did not."""
    notes = (f"longest time without an acknowledged write: {writes.longest:.0f} s",) if writes.tried else ()
    lost = len(writes.lost)
    return Proof(name, writes.tried, writes.acknowledged, lost, round(seconds, 1), notes, has_writes=has_writes)


class MachineReport:
    """Collects the results of all tests, and writes the report at the end."""

    def __init__(self) -> None:
        self._proofs: list[Proof] = []
        self._skipped: list[str] = []
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reads the result of a test's set-up, call or teardown."""
        seconds = self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        name = _name(report.nodeid)
        if report.skipped:
            self._skipped.append(f"{name}: {_reason(report)}")
        if report.when == "call":
            given = [value for _, value in report.user_properties if isinstance(value, Proof)]
            self._proofs += given
            if report.passed and not given:
                self._proofs.append(without_writes(name, round(seconds, 1)))
        if report.failed:
            self._proofs.append(without_writes(name, round(seconds, 1), failure=_reason(report)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes the report and prints its path."""
        path = trial_report.write(DIRECTORY, "Real machines", self._proofs, self._skipped)
        terminalreporter.write_line(f"The report: {path.relative_to(ROOT)}")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the plugin."""
    config.pluginmanager.register(MachineReport())


def _name(nodeid: str) -> str:
    """Returns a test's name as words, such as `Virtual machines: destroy leaves disks`."""
    file, _, function = nodeid.partition("::")
    subject = re.sub(r".*/test_|\.py$", "", file).replace("_", " ")
    return f"{subject.capitalize()}: {function.removeprefix('test_').replace('_', ' ')}"


def _reason(report: pytest.TestReport) -> str:
    """Returns why a test failed or was skipped, as one line of at most 500 characters."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    lines = report.longreprtext.strip().splitlines()
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return " ".join(errors or lines[-1:])[:500]
