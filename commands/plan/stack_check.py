"""Checks stack files and shows their plans. Takes well under a second, because Pulumi is not started."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from blueprint.plan import plan_json
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.plan.table import summary, table
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from commands import build_directory, stack
from commands.plan.version_check import version_problems
from commands.stack import ValidStack
from console.errors import UserError
from text.quoting import printable
from versions.support import ended

T = TypeVar("T")
LARGEST_VARIABLE = 128 * 1024
"""Maximum size of one environment variable in bytes, with its name and a zero byte (Linux, MAX_ARG_STRLEN)."""


def check(root: Path, files: Sequence[Path]) -> int:
    """Prints a summary of every valid stack file, and the errors of each invalid one. Returns 1 if there are errors.

    Warns of a stack file that is too large for the Pulumi CLI, and of releases whose support has ended. Versions that
    may not follow those of the stack's last deployment are errors, in a lab warnings.
    """
    valid = [_is_valid(root, file) for file in files]
    for file, is_valid in zip(files, valid, strict=True):
        if is_valid and (size := _variable_size(file)) > LARGEST_VARIABLE:
            print(
                f"{file}: warning: the Pulumi CLI fails with 'argument list too long': it passes the configuration, "
                f"{size // 1024} KiB, to the program in one environment variable, which Linux limits to "
                f"{LARGEST_VARIABLE // 1024} KiB. Write the list of servers into a file of its own, and its path into "
                "this one, such as quorate:servers: own/servers.yaml; or write servers as patterns such as "
                "cmp[001-300]. Quorate's commands pass the configuration by file.",
                file=sys.stderr,
            )
    return 0 if all(valid) else 1


def _is_valid(root: Path, file: Path) -> bool:
    """Whether a stack file is valid, and may follow the last deployment. Prints its summary, or its errors."""
    result = _planned(file)
    if result is None:
        return False
    problems = version_problems(root, file, result)
    if not problems or result.settings.is_lab:
        show_summary(file, result)
    for problem in problems:
        print(f"{file}: {'warning: ' if result.settings.is_lab else ''}{problem}", file=sys.stderr)
    return not problems or result.settings.is_lab


def show_summary(file: Path, planned: Plan) -> None:
    """Prints the summary of a valid stack file, and a warning for each release without support."""
    print(f"{file}: valid: {summary(planned)}")
    for warning in _ended(planned.settings, datetime.now(UTC).date()):
        print(f"{file}: warning: {warning}", file=sys.stderr)


def _ended(settings: Settings, today: date) -> Iterator[str]:
    """Yields a warning for each release that the stack deploys and whose upstream support has ended."""
    deployed = [("quorate:release", "OpenStack", settings.release, "a newer release")]
    if not settings.has_existing_machines:
        minor, _, _ = settings.kubernetes.rpartition(".")
        deployed.append(("quorate:kubernetes", "Kubernetes", minor, "a version of a newer one"))
    for key, name, version, advice in deployed:
        if day := ended(name, version, today):
            yield f"{key}: the support of {name} {version} ended on {day}; write {advice} (docs/versions.md)"


def _variable_size(file: Path) -> int:
    """Returns the size of the environment variable in which Pulumi passes a stack file's configuration, in bytes."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)
        for key, value in stack.config_of(stack.read_document(file)).items()
    }
    return len(f"PULUMI_CONFIG={json.dumps(texts, separators=(',', ':'))}") + 1


def show_plan(root: Path, name: str, *, as_json: bool) -> int:
    """Prints the plan of a stack and writes build/<stack>/plan.json. Returns 1 if the stack file has errors."""
    file = stack.find(root, name).relative_to(root)
    result = _planned(file)
    if result is None:
        return 1
    plan_json.write(result, build_directory.of_stack(root, name) / "plan.json")
    sys.stdout.write(plan_json.to_json(result) if as_json else table(result))
    return 0


def validated_stack(root: Path, name: str) -> ValidStack:
    """Loads and plans a stack. Prints all errors of its file and raises UserError if there are any."""
    file = stack.find(root, name).relative_to(root)

    def planned() -> ValidStack:
        found = stack.load(root, name)
        _ = found.plan
        return found

    found = _without_errors(file, planned)
    if found is None:
        raise UserError(f"{file} is invalid (see the errors above). Nothing was changed.")
    return found


def _planned(file: Path) -> Plan | None:
    """Returns the plan of a stack file. If the file has errors, prints each on standard error and returns None."""
    return _without_errors(file, lambda: plan(load_file(file)))


def _without_errors(file: Path, load: Callable[[], T]) -> T | None:
    """Returns what `load` returns. If the stack file has errors, prints each on standard error and returns None."""
    try:
        return load()
    except InvalidStackError as invalid:
        for problem in invalid.problems:
            of_file = Path(problem.key).absolute() == file.absolute()  # a problem of the whole file, by its path
            print(printable(f"{file}: {problem.message if of_file else problem}"), file=sys.stderr)
        return None
