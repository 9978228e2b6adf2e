"""The pipe through which the engine's event log passes: it drops secrets before anything is written to a file.

The engine writes its events to a file only in its debug mode, and then with debug messages among them that contain
secrets in clear text. The log therefore goes through a pipe. Of the debug messages, only those that carry the pack's
record are kept.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from policy.engine.events import Phase, parse
from policy.engine.record import PREFIX as VERDICTS

_LAST = b'{"quorateEnd":true}\n'


@dataclass
class RunSummary:
    """What a run reported. Of several phases only the last one is kept."""

    lines: list[str] = field(default_factory=list[str])
    """The events to write, one JSON object each."""
    phase: Phase = field(default_factory=Phase)

    def take(self, line: bytes) -> None:
        """Adds an event. A line that is not an event, and a debug message without a record, is dropped."""
        event = parse(line)
        if event is None:
            return
        message = event.message
        if message and message.severity == "debug" and not message.text.startswith(VERDICTS):
            return
        if event.begins_phase:
            self.lines, self.phase = [], Phase()
        self.phase.add(event)
        self.lines.append(line.decode("utf-8").rstrip())

    @property
    def changes(self) -> dict[str, int]:
        """Number of resources by operation; empty if the phase did not run to its end."""
        return self.phase.end.changes if self.phase.end else {}

    @property
    def changed(self) -> dict[str, int]:
        """Number of resources by operation, without those that stay as they are."""
        return {kind: count for kind, count in self.changes.items() if kind not in ("same", "read") and count}

    @property
    def shows_change(self) -> bool:
        """Whether a resource or an output of the stack changes."""
        return bool(self.changed) or self.phase.changes_outputs

    @property
    def only_previewed(self) -> bool:
        """Whether the run ended with its preview, so that nothing was changed."""
        return self.phase.end is not None and self.phase.end.is_preview

    @property
    def stopped_by_policy(self) -> bool:
        """Whether mandatory rules, and no other error, stopped the run."""
        return bool(self.phase.mandatory) and not self.phase.causes

    def write(self, path: Path) -> None:
        """Writes the kept events to a file, one a line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")


@contextmanager
def listening() -> Generator[tuple[Path, RunSummary]]:
    """A pipe for `--event-log`, and the summary that is read from it; complete at the end of the context."""
    summary = RunSummary()
    with tempfile.TemporaryDirectory(prefix="quorate-events-") as directory:
        pipe = Path(directory) / "events"
        os.mkfifo(pipe, 0o600)
        # Open for both: neither this end waits for the engine, nor does its end come when the engine reopens the log.
        handle = os.open(pipe, os.O_RDWR)

        def read() -> None:
            with os.fdopen(os.dup(handle), "rb") as events:
                for line in events:
                    if line == _LAST:
                        return
                    summary.take(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield pipe, summary
        finally:
            os.write(handle, _LAST)
            reader.join()
            os.close(handle)
