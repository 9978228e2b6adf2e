"""Checks stack files, shows their plans and prints the schema, without the engine and without Pulumi.

Exit codes: 0 valid, 1 invalid (every problem on standard error, a line each), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from blueprint.plan.planner import Plan, plan
from blueprint.plan.table import summary, table
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.schema import schema


def main(arguments: Sequence[str]) -> int:
    """`python -m commands.check --check FILE … | --schema`."""
    parser = argparse.ArgumentParser(prog="python -m commands.check", description="Judge stack files.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", nargs="+", type=Path, metavar="FILE", help="judge stack files and what they plan")
    what.add_argument("--schema", action="store_true", help="print the JSON Schema of a stack file")
    chosen = parser.parse_args(arguments)
    if chosen.schema:
        sys.stdout.write(schema())
        return 0
    verdicts = [_planned(path) for path in chosen.check]
    for path, result in zip(chosen.check, verdicts, strict=True):
        if result:
            print(f"{path}: sound: {summary(result)}")
    return 0 if all(verdicts) else 1


def show_plan(arguments: Sequence[str]) -> int:
    """`plan --stack-file FILE [--json] [--out FILE]`: the plan as a table, or as plan.json."""
    parser = argparse.ArgumentParser(prog="plan", description="Show a stack's plan.")
    parser.add_argument("--stack-file", type=Path, required=True)
    parser.add_argument("--json", action="store_true", help="print plan.json instead of a table")
    parser.add_argument("--out", type=Path, help="write plan.json here as well")
    chosen = parser.parse_args(arguments)
    result = _planned(chosen.stack_file)
    if result is None:
        return 1
    if chosen.out:
        result.write(chosen.out)
    sys.stdout.write(result.to_json() if chosen.json else table(result))
    return 0


def _planned(path: Path) -> Plan | None:
    try:
        return plan(load_file(path))
    except InvalidStackError as refused:
        for problem in refused.problems:
            print(f"{path}: {problem}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
