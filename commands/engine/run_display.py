"""Runs Pulumi for a command of Quorate: shows the progress, writes Pulumi's own output to a log, and reports results.

Progress and errors go to standard error, results to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import TextIO

from commands.engine import run_log
from commands.engine.event_pipe import RunSummary
from commands.engine.operation import Operation, Result, Verb
from commands.run import activity, run_findings
from commands.run.run_changes import RunChanges
from commands.run.run_messages import RunMessages
from commands.run.run_progress import RunProgress
from console.progress import duration
from policy.engine.events import Event
from text.quoting import printable

LAST_LINES = 12
"""Number of lines that are shown of the program's standard error, and of the output of a Pulumi that names no error."""
_PHASES = {"up": "update"}


class RunDisplay:
    """The Pulumi runs of one command on a stack, and what is shown of them."""

    def __init__(self, operation: Operation, command: str, *, is_verbose: bool) -> None:
        self._operation = operation
        self._root = operation.workspace.root
        self._log = run_log.create(self._root, operation.stack.name, command, is_shown=is_verbose)
        self._is_verbose = is_verbose
        self._secrets = PurePosixPath("build") / operation.stack.name / "secrets"
        self._changes = RunChanges()
        self.messages = RunMessages(self._secrets)
        self._times: dict[str, float] = {}
        self._expected = 0

    @property
    def log(self) -> Path:
        """Path of the log, relative to the clone."""
        return self._log.path.relative_to(self._root)

    @property
    def times(self) -> str:
        """The duration of each phase, such as `preview 5.1 s, update 6.0 s`; empty if no phase has ended."""
        return ", ".join(f"{_PHASES.get(phase, phase)} {duration(taken)}" for phase, taken in self._times.items())

    def run(self, verb: Verb) -> Result:
        """Runs a Pulumi command on the stack until it ends."""
        progress = RunProgress(verb, self._operation.stack.name, self._expected, times=self._times)
        watcher = _Watcher(progress, self._changes, self.messages)
        shown = nullcontext() if self._is_verbose else activity.shown(progress.title, progress.lines)
        with shown, self._log.followed():
            result = self._operation.run(verb, output=self._log.path, watcher=watcher)
        self._expected = progress.expected
        return result

    def show_changes(self, title: str) -> None:
        """Prints the changes of the last run, grouped; nothing if there are none."""
        _print(title, self._changes.lines())

    def show_warnings(self) -> None:
        """Prints the warnings of all runs, each once, and what the program wrote to standard error."""
        _print("Warnings:", self.messages.warnings())
        lines = self.messages.program
        more = [f"and {len(lines) - LAST_LINES} more lines (in the log)"] if len(lines) > LAST_LINES else []
        _print("The program's standard error:", [*lines[:LAST_LINES], *more])

    def show_secrets(self) -> None:
        """Prints where secret values were rendered in clear text, and who may read them."""
        if count := self.messages.rendered_secrets:
            print(
                f"Secrets: {self._secrets}/ has the secret values of the stack in clear text, in {count} Kubernetes "
                "objects and in files\n  of machines. Only you can read it (mode 0700); no report and no artifact has "
                "a copy."
            )

    def show_failure(self, result: Result) -> None:
        """Prints the warnings, findings and errors of a run that failed; without a reason, the end of Pulumi's output.

        What the program wrote to standard error is only counted: a program whose engine stops fails too, in many lines.
        """
        violations, errors = result.summary.phase.violations, list(self.messages.errors())
        _print("Warnings:", self.messages.warnings())
        if lines := self.messages.program:
            print(f"The program wrote {len(lines)} lines to standard error (in the log).", flush=True)
        _print("Findings of the policy pack:", run_findings.lines(violations), sys.stderr)
        _print("Errors:", errors, sys.stderr)
        if not errors and not result.summary.stopped_by_policy:
            # An engine that fails before its first event, or cannot write its state, explains it only in its output.
            last = self._log.tail(LAST_LINES) or [f"Pulumi {result.ending} and printed nothing."]
            _print("The last lines of Pulumi's output:", map(printable, last), sys.stderr)

    def show_findings(self, summary: RunSummary) -> None:
        """Prints the findings of the policy pack, those of mandatory rules first."""
        _print("Findings of the policy pack:", run_findings.lines(summary.phase.violations))

    @property
    def has_log(self) -> bool:
        """Whether the log still exists; `destroy` deletes it with the directory of a rendered lab."""
        return self._log.path.is_file()

    def show_log(self) -> None:
        """Prints the path of the log."""
        print(f"Pulumi's own output: {self.log}", flush=True)


class _Watcher:
    """Passes the events of a run on to what shows them."""

    def __init__(self, progress: RunProgress, changes: RunChanges, messages: RunMessages) -> None:
        self._progress = progress
        self._takers = (progress.take, changes.take, messages.take)

    def take(self, event: Event) -> None:
        for each in self._takers:
            each(event)

    def interrupt(self) -> None:
        self._progress.interrupt()


def _print(title: str, lines: Iterable[str], out: TextIO | None = None) -> None:
    """Prints a title and indented lines; nothing if there are no lines."""
    texts = [f"  {line}" for text in lines for line in text.splitlines()]
    if texts:
        print("\n".join([title, *texts]), file=out, flush=True)
