"""Reads the engine's event log through a pipe, and drops secrets before anything is written to a file.

The engine has an event log only in debug mode, and the log then contains debug messages with secrets in clear text.
Therefore the engine writes the log into a pipe, and no debug message is kept. The policy pack writes its verdicts into
a file of their own (policy/engine/record.py).
"""

from __future__ import annotations

import os
import tempfile
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from contract import VERDICTS_FILE
from files import atomic
from policy.engine import record
from policy.engine.events import EnginePhase, Event, parse

_LAST = b'{"quorateEnd":true}\n'


@dataclass
class RunSummary:
    """Events of the last phase of a Pulumi run. An update may have two phases: preview and update."""

    lines: list[str] = field(default_factory=list[str])
    """The events of the phase, each a JSON object as text, without debug messages."""
    phase: EnginePhase = field(default_factory=EnginePhase)
    verdicts: str | None = None
    """The policy pack's record of the run as text (policy/engine/record.py); None if the pack evaluated no stack."""

    def take(self, line: bytes) -> Event | None:
        """Adds a line of the event log, and returns its event.

        Drops a line that is not an event, and debug messages; then returns None.
        """
        event = parse(line)
        if event is None:
            return None
        message = event.message
        if message and message.severity == "debug":
            return None
        if event.begins_phase:
            self.lines, self.phase = [], EnginePhase()
        self.phase.add(event)
        self.lines.append(line.decode("utf-8").rstrip())
        return event

    @property
    def changes(self) -> dict[str, int]:
        """Number of resources by operation; empty if the phase did not complete."""
        return self.phase.end.changes if self.phase.end else {}

    @property
    def changed(self) -> dict[str, int]:
        """Number of changed resources by operation, such as create or delete."""
        return {kind: count for kind, count in self.changes.items() if kind not in ("same", "read") and count}

    @property
    def shows_change(self) -> bool:
        """Whether the run changes, or a preview would change, a resource or an output of the stack."""
        return bool(self.changed) or self.phase.changes_outputs

    @property
    def only_previewed(self) -> bool:
        """Whether the run ended after its preview, so that nothing was changed."""
        return self.phase.end is not None and self.phase.end.is_preview

    @property
    def stopped_by_policy(self) -> bool:
        """Whether only violations of mandatory rules stopped the run, and no other error."""
        return bool(self.phase.mandatory) and not self.phase.causes

    def write(self, path: Path) -> None:
        """Writes the kept events to a file, one per line, and the policy pack's record beside it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")
        verdicts = path.with_name(record.FILE)
        if self.verdicts is None:
            verdicts.unlink(missing_ok=True)  # that of an earlier run
        else:
            atomic.write_private(verdicts, self.verdicts)


@contextmanager
def listening(watch: Callable[[Event], None] | None = None) -> Generator[tuple[Path, dict[str, str], RunSummary]]:
    """Yields a pipe for Pulumi's `--event-log`, environment variables for the engine, and the summary of the run.

    The variables name the file for the policy pack's record. The summary is complete when the context ends. `watch` is
    called with each event that is kept, by another thread.
    """
    summary = RunSummary()
    with tempfile.TemporaryDirectory(prefix="quorate-events-") as directory:
        pipe, verdicts = Path(directory) / "events", Path(directory) / record.FILE
        os.mkfifo(pipe, 0o600)
        # Open for reading and writing, so that opening does not wait for the engine, and the engine may reopen the log.
        handle = os.open(pipe, os.O_RDWR)

        def read() -> None:
            watching = watch
            with os.fdopen(os.dup(handle), "rb") as events:
                for line in events:
                    if line == _LAST:
                        return
                    event = summary.take(line)
                    try:
                        if event and watching:
                            watching(event)
                    except Exception:  # the engine waits until its events are read: what fails to show them must not
                        traceback.print_exc()
                        watching = None

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield pipe, {VERDICTS_FILE: str(verdicts)}, summary
        finally:
            os.write(handle, _LAST)
            reader.join()
            os.close(handle)
            if verdicts.exists():
                summary.verdicts = verdicts.read_text(encoding="utf-8")
