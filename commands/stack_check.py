"""Checks stack files and shows their plans. Takes well under a second, because Pulumi is not started."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from blueprint.plan.planner import Plan, plan
from blueprint.plan.table import summary, table
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from commands import build_directory, stack
from commands.stack import Stack
from files.quoting import printable
from toolchain.progress import UserError


def check(files: Sequence[Path]) -> int:
    """Prints a summary of every valid stack file, and the errors of each invalid one. Returns 1 if there are errors."""
    plans = [_planned(file) for file in files]
    for file, result in zip(files, plans, strict=True):
        if result:
            print(f"{file}: valid: {summary(result)}")
    return 0 if all(plans) else 1


def show_plan(root: Path, name: str, *, as_json: bool) -> int:
    """Prints the plan of a stack and writes build/<stack>/plan.json. Returns 1 if the stack file has errors."""
    result = _planned(stack.find(root, name).relative_to(root))
    if result is None:
        return 1
    result.write(build_directory.of_stack(root, name) / "plan.json")
    sys.stdout.write(result.to_json() if as_json else table(result))
    return 0


def validated_stack(root: Path, name: str) -> Stack:
    """Loads a stack and prints its summary. Prints all errors of its file and raises UserError if there are any."""
    file = stack.find(root, name).relative_to(root)
    if check([file]) != 0:
        raise UserError(f"{file} is invalid (see the errors above). Nothing was changed.")
    return stack.load(root, name)


def _planned(file: Path) -> Plan | None:
    """Returns the plan of a stack file. If the file has errors, prints each on standard error and returns None."""
    try:
        return plan(load_file(file))
    except InvalidStackError as invalid:
        for problem in invalid.problems:
            print(printable(f"{file}: {problem}"), file=sys.stderr)
        return None
