"""`quorate audit --oscal`: writes audit.oscal.json by the models of compliance-trestle.

Trestle has an environment of its own, because it demands exact versions of libraries that Quorate uses too (ADR 40).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from audit import oscal
from commands.review import audit_report
from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from files import atomic
from toolchain.install import ROOT, ensure_beside

LOCK = ROOT / "requirements-oscal.lock"
VENV = ROOT / ".venv-oscal"


def write(root: Path, name: str, since: float) -> None:
    """Writes the OSCAL document of the report that an audit of a stack wrote after `since`. Raises UserError."""
    report = audit_report.written(root, name, since)
    ensure_beside(VENV, LOCK, Reporter())
    convert(report)
    print(f"Written: {(report / oscal.NAME).relative_to(root)}")


def convert(report: Path) -> None:
    """Writes audit.oscal.json from the findings.json in a report. Raises UserError if trestle refuses the document."""
    document = oscal.write(json.loads((report / "findings.json").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as directory:
        draft, workspace = Path(directory, "draft.json"), Path(directory, "workspace")
        draft.write_text(json.dumps(document), encoding="utf-8")
        workspace.mkdir()
        try:
            trestle(workspace, "init", "--local")
            trestle(workspace, "import", "--file", draft, "--output", "audit")
        except ProgramError as failure:
            raise UserError(f"compliance-trestle refuses the document:\n{failure.tail()}") from None
        written = workspace / "assessment-results" / "audit" / "assessment-results.json"
        atomic.write(report / oscal.NAME, written.read_text(encoding="utf-8"))


def trestle(workspace: Path, *words: str | Path) -> None:
    """Runs trestle's command line on a workspace. Raises ProgramError if it fails."""
    run([VENV / "bin" / "trestle", *words, "--trestle-root", workspace])
