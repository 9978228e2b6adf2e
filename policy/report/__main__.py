"""`python -m policy.report --events FILE --stack NAME --out DIR`: the audit of a preview, as documents.

Writes findings.json and audit.md, each at once or not at all. Ends with 1 when a mandatory rule is broken, when a
rule could not be evaluated in production, or when the event log cannot be believed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from policy.report import events, markdown
from policy.report.audit import Audit, audit


def main(arguments: Sequence[str]) -> int:
    """Writes the audit, says its verdict, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m policy.report", description="The audit of a preview.")
    parser.add_argument("--events", type=Path, required=True, help="the engine's event log, one JSON event a line")
    parser.add_argument("--stack", required=True, help="the stack's name")
    parser.add_argument("--out", type=Path, required=True, help="the folder for findings.json and audit.md")
    chosen = parser.parse_args(arguments)
    done = audit(chosen.stack, events.read(chosen.events))
    chosen.out.mkdir(parents=True, exist_ok=True)
    _write(chosen.out / "findings.json", json.dumps(done.to_json(), indent=1, ensure_ascii=False) + "\n")
    _write(chosen.out / "audit.md", markdown.write(done))
    _say(done, chosen.out)
    return 0 if done.passed else 1


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def _say(done: Audit, directory: Path) -> None:
    for problem in done.problems:
        print(f"cannot be relied on: {problem}")
    for finding in done.violations:
        level = "mandatory" if done.stops(finding) else "advisory"
        print(f"[{level}] {finding.rule}: {finding.message}")
    rules = {verdict: count for verdict, count in done.to_json()["summary"]["rules"].items() if count}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rules.items())
    print(f"Audit of {done.stack} {'passed' if done.passed else 'failed'}: rules {counts}. See {directory}/audit.md")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
