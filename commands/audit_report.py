"""Writes the audit report of a run: `python -m audit`, on the event log of the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from commands.event_pipe import RunSummary
from commands.stack import Stack


def write(root: Path, stack: Stack, summary: RunSummary, directory: Path | None = None) -> int:
    """Writes the report of a run and returns 0 if its audit passes.

    The default directory is build/<stack>/audit. Only the report there uses plan.json, which is the working tree's.
    """
    build = Path("build") / stack.name
    out = directory or build / "audit"
    events = out / "events.jsonl"
    summary.write(root / events)
    command = [sys.executable, "-m", "audit", "--events", str(events), "--stack", stack.name]
    command += ["--out", str(out), "--stack-file", str(stack.file.relative_to(root))]
    command += ["--plan", str(build / "plan.json")] if out == build / "audit" else []
    sys.stdout.flush()
    return subprocess.run(command, cwd=root, check=False).returncode
