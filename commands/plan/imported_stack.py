"""`quorate import`: prints the stack file of another deployer's file, and a report of what each part of it became.

The stack file goes to standard output and the report to standard error, so that `>Pulumi.mine.yaml` takes the one and
the terminal shows the other. No file is written.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from blueprint.imports import FORMATS, ImportFate, ImportFormat, ImportLine, import_file
from commands.plan.settled_stack import ImportedStack, settled
from files import yaml_writer
from text.quoting import printable, single_line

__all__ = ["FORMATS", "show"]

_HEAD = """\
# A stack that quorate import made of {form}'s {file} (docs/import.md). Write your own values in place of the
# placeholders that the report names: addresses of 198.18.…, masters, cores and memory. The profile lab advises where
# production refuses.
"""
_LONGEST_NAME = 200


def show(form: ImportFormat, file: Path) -> int:
    """Prints the stack file and the report. Raises InvalidStackError, with every problem, if the file is refused."""
    stack = settled(import_file(form, file))
    print(_stack_file(form, file, stack), end="", flush=True)
    print("\n".join(_report(file, stack.lines)), file=sys.stderr)
    return 0


def _stack_file(form: str, file: Path, stack: ImportedStack) -> str:
    content = {"config": {f"quorate:{key}": value for key, value in stack.settings.items()}}
    return _HEAD.format(form=form, file=single_line(file.name, _LONGEST_NAME)) + yaml_writer.plain_document(content)


def _report(file: Path, lines: Sequence[ImportLine]) -> Iterator[str]:
    """Yields the lines of the report, what needs attention last. Parts with the same text are one line."""
    joined: dict[tuple[ImportFate, str], list[str]] = defaultdict(list)
    for line in lines:
        joined[line.fate, line.text].append(line.key)
    for fate in get_args(ImportFate):
        for (_, text), keys in ((said, keys) for said, keys in joined.items() if said[0] == fate):
            yield printable(f"{fate}: {', '.join(keys)}: {text}", kept="")
    counts = (f"{sum(line.fate == fate for line in lines)} {fate}" for fate in get_args(ImportFate))
    yield printable(f"{file}: {', '.join(counts)}", kept="")
