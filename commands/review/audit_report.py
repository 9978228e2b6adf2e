"""Writes the audit report of a run by calling `python -m audit` with the run's event log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from commands.engine.event_pipe import RunSummary
from commands.stack import Stack


def write(root: Path, stack: Stack, summary: RunSummary, directory: Path | None = None) -> int:
    """Writes the report of a run and returns 0 if its audit passes.

    The default directory is build/<stack>/audit. Reports in other directories are for a base commit and do not use
    build/<stack>/plan.json, which describes the working tree.
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
