"""The engine's event log of a run: which resources changed, which policies were violated, why it failed.

The engine writes its events to a file only in its debug mode, and then with debug messages among them that hold
secrets in clear text. So the log goes through a pipe, and what is kept passes a filter first: of the debug messages,
only those in which the policy pack leaves its verdicts.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from policy.engine.record import PREFIX as VERDICTS

_LAST = b'{"quorateEnd":true}\n'
_CONSEQUENCES = ("preview failed", "update failed")
"""How the engine's own closing error begins where policies, not the program, stopped it."""


@dataclass
class RunSummary:
    """What is kept of a run's events; `up` reports two phases, and the last one counts."""

    lines: list[str] = field(default_factory=list[str])
    changes: dict[str, int] = field(default_factory=dict[str, int])
    is_preview: bool = True
    errors: list[str] = field(default_factory=list[str])
    violations: int = 0

    def take(self, line: bytes) -> None:
        """Takes an event in; what is not one, or not for keeping, is passed over."""
        try:
            event = cast("dict[str, Any]", json.loads(line))
        except ValueError:
            return
        if "diagnosticEvent" in event:
            diagnostic = event["diagnosticEvent"]
            message = str(diagnostic.get("message", ""))
            if diagnostic.get("severity") == "debug" and not message.startswith(VERDICTS):
                return
            if diagnostic.get("severity") == "error":
                self.errors.append(message.strip())
        if event.get("sequence") == 0:
            # A phase begins: the preview of an `up` is over, and what it said is said again.
            self.lines, self.errors, self.violations = [], [], 0
        if event.get("policyEvent", {}).get("enforcementLevel") == "mandatory":
            self.violations += 1
        if "summaryEvent" in event:
            summary = event["summaryEvent"]
            self.changes = {str(kind): int(count) for kind, count in summary.get("resourceChanges", {}).items()}
            self.is_preview = bool(summary.get("isPreview"))
        self.lines.append(json.dumps(event))

    @property
    def changed(self) -> dict[str, int]:
        """How many resources were created, updated …; those left as they were not among them."""
        return {kind: count for kind, count in self.changes.items() if kind not in ("same", "read") and count}

    @property
    def real_errors(self) -> list[str]:
        """Errors that are no mere consequence of a policy's verdict."""
        return [text for text in self.errors if not text.lower().startswith(_CONSEQUENCES)]

    @property
    def stopped_by_policy(self) -> bool:
        return self.violations > 0 and not self.real_errors

    def write(self, path: Path) -> None:
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
