"""Writes the audit report of a run by calling `python -m audit` with the run's event log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from commands.engine.event_pipe import RunSummary
from commands.stack import Stack
from console.errors import UserError


def written(root: Path, name: str, since: float) -> Path:
    """Returns the folder of a stack's report. Raises UserError if it is older than `since`, in seconds since 1970.

    An audit that fails before its preview writes no report, and the folder then has that of an earlier audit.
    """
    report = root / "build" / name / "audit"
    findings = report / "findings.json"
    if not findings.is_file() or findings.stat().st_mtime < since:
        raise UserError("The audit wrote no report, so there is nothing to sign or to convert.")
    return report


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
