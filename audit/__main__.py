"""`python -m audit --events FILE --stack NAME --out DIR`: writes the audit of a preview.

Writes findings.json, audit.html, audit.md, audit.sarif and audit.junit.xml, each atomically. The exit code is 1 if a
mandatory rule fails, if a rule cannot be evaluated in production, or if the event log is incomplete or contradictory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit import controls, html, junit, log, markdown, oscal, sarif
from audit.grouping import MOST, Cause, FindingGroup, grouped
from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import Audit, audit
from files import atomic
from text.quoting import printable


def main(arguments: Sequence[str]) -> int:
    """Writes the files of the audit, prints its verdict and returns the exit code of the command."""
    parser = argparse.ArgumentParser(prog="python -m audit", description="Write the audit of a preview.")
    parser.add_argument("--events", type=Path, required=True, help="the engine's event log, one JSON event per line")
    parser.add_argument("--stack", required=True, help="the stack's name")
    parser.add_argument("--out", type=Path, required=True, help="the folder for findings.json and its views")
    parser.add_argument("--stack-file", type=Path, help="for line numbers, relative to the repository's root")
    parser.add_argument("--plan", type=Path, help="plan.json, for one feasible placement and the sources of counts")
    chosen = parser.parse_args(arguments)
    result = audit(chosen.stack, log.read(chosen.events))
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.stack_file or Path(f"Pulumi.{chosen.stack}.yaml")
    file = StackFile.read(path, path.as_posix())
    for name, text in _views(result, file, chosen.plan).items():
        atomic.write(chosen.out / name, text)
    (chosen.out / oscal.NAME).unlink(missing_ok=True)  # of an earlier audit; `quorate audit --oscal` writes it again
    _print(result, file, chosen.out)
    return 0 if result.passed else 1


def _views(result: Audit, file: StackFile, plan: Path | None) -> dict[str, str]:
    """Returns the contents of the audit's files, by file name. `plan`: path of plan.json, None if there is none."""
    return {
        "findings.json": _json({**result.to_json(), "frameworks": controls.to_json(result)}),
        "audit.html": html.write(result, file, PlanFile.read(plan) if plan else PlanFile()),
        "audit.md": markdown.write(result, file),
        "audit.sarif": _json(sarif.write(result, file, _pages(os.environ))),
        "audit.junit.xml": junit.write(result),
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _pages(environment: Mapping[str, str]) -> str:
    """Returns the URL of the current commit's files on GitHub; "" if the command does not run on a GitHub runner."""
    parts = [environment.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "SHA")]
    return "{}/{}/blob/{}/".format(*parts) if all(parts) else ""


def _print(result: Audit, file: StackFile, directory: Path) -> None:
    for problem in result.problems:
        print(printable(f"unreliable: {problem}"))
    for cause in file.causes(result.violations, result.placement):
        level = "mandatory" if any(result.stops(finding) for finding in cause.findings) else "advisory"
        if cause.key:
            print(printable(f"[{level}] {file.path}, line {file.line(cause.key)} ({cause.key}): {cause.heading}"))
        for part in cause.by_rule:
            _print_rule(part, "  -" if cause.key else f"[{level}]")
    for group in grouped(result.waived):
        waiver = group.first.waiver or "waived"
        print(printable(f"[waived] {group.first.rule}: {_affected(group)}{waiver}: {group.message}"))
    rules = {verdict: count for verdict, count in result.to_json()["summary"]["rules"].items() if count}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rules.items())
    print(
        f"Audit of {result.stack} {'passed' if result.passed else 'failed'}: rules {counts}. See {directory}/audit.html"
    )


def _print_rule(cause: Cause, mark: str) -> None:
    for group in cause.groups[:MOST]:
        print(printable(f"{mark} {group.rule}: {_affected(group)}{group.message}"))
    if len(cause.groups) > MOST:
        print(printable(f"{mark} {cause.groups[0].rule}: {len(cause.groups) - MOST} more, in the report"))


def _affected(group: FindingGroup) -> str:
    return f"{group.count} resources ({group.resources}): " if group.count > 1 else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
