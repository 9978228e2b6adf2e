"""`python -m audit --events FILE --stack NAME --out DIR`: the audit of a preview, as documents.

Writes findings.json, audit.html, audit.md, audit.sarif and audit.junit.xml, each at once or not at all. Ends with 1
when a mandatory rule is broken, when a rule could not be evaluated in production, or when the event log cannot be
believed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit import html, junit, log, markdown, sarif
from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import Audit, audit
from files import atomic


def main(arguments: Sequence[str]) -> int:
    """Writes the audit, says its verdict, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m audit", description="The audit of a preview.")
    parser.add_argument("--events", type=Path, required=True, help="the engine's event log, one JSON event a line")
    parser.add_argument("--stack", required=True, help="the stack's name")
    parser.add_argument("--out", type=Path, required=True, help="the folder for findings.json and its views")
    parser.add_argument("--stack-file", type=Path, help="for positions, from the repository's root")
    parser.add_argument("--plan", type=Path, help="plan.json, for one placement that fits and the sources of counts")
    chosen = parser.parse_args(arguments)
    done = audit(chosen.stack, log.read(chosen.events))
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.stack_file or Path(f"Pulumi.{chosen.stack}.yaml")
    for name, text in _views(done, StackFile.read(file, file.as_posix()), chosen.plan).items():
        atomic.write(chosen.out / name, text)
    _say(done, chosen.out)
    return 0 if done.passed else 1


def _views(done: Audit, file: StackFile, plan: Path | None) -> dict[str, str]:
    """Every form of the audit, by the name of its file."""
    return {
        "findings.json": _json(done.to_json()),
        "audit.html": html.write(done, file, PlanFile.read(plan) if plan else PlanFile()),
        "audit.md": markdown.write(done),
        "audit.sarif": _json(sarif.write(done, file, _pages(os.environ))),
        "audit.junit.xml": junit.write(done),
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _pages(environment: Mapping[str, str]) -> str:
    """Where this commit's files can be read: known on GitHub's own runners, empty elsewhere."""
    said = [environment.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "SHA")]
    return "{}/{}/blob/{}/".format(*said) if all(said) else ""


def _say(done: Audit, directory: Path) -> None:
    for problem in done.problems:
        print(f"cannot be relied on: {problem}")
    for finding in done.violations:
        level = "mandatory" if done.stops(finding) else "advisory"
        print(f"[{level}] {finding.rule}: {finding.message}")
    for finding in done.waived:
        print(f"[waived] {finding.rule}: {finding.wording}")
    rules = {verdict: count for verdict, count in done.to_json()["summary"]["rules"].items() if count}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rules.items())
    print(f"Audit of {done.stack} {'passed' if done.passed else 'failed'}: rules {counts}. See {directory}/audit.html")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
