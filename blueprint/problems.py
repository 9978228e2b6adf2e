"""Defines problems: validation errors of a stack, each with the key, the error, and the text to write instead.

Checks continue after a problem and collect further ones, so that one run reports all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from text import clear_text
from text.quoting import single_line

_LONGEST = {"key": 300, "message": 1000}
"""Maximum length of a printed key and message. Both may contain long text from a file."""
_CREDENTIALS = re.compile(r":[^\s/@]{1,200}@(?!sha256:)")
_SAME = 3
"""Maximum number of similar problems that are all listed. If there are more, the first is shown with their number."""
_VARYING = re.compile(r"'[^']*'|\([^)]*\)|[0-9]+")


@dataclass(frozen=True, order=True)
class Problem:
    """One error in a stack file: its `key`, and a `message` with the error and the text to write instead."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{single_line(self.key, _LONGEST['key'])}: {single_line(self.message, _LONGEST['message'])}"


class InvalidStackError(Exception):
    """Raised for an invalid stack. `problems` contains the errors found, at least one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = collapsed(tuple(dict.fromkeys(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def collapsed(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Merges many problems that differ only in numbers and quoted names, such as the same error of 144 servers."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kind = _VARYING.sub("#", problem.key), _VARYING.sub("#", problem.message)
        kinds.setdefault(kind, []).append(problem)
    shown: list[Problem] = []
    for same in kinds.values():
        if len(same) > _SAME:
            shown.append(Problem(same[0].key, f"{same[0].message} ({len(same) - 1} more entries have this error)"))
        else:
            shown += same
    return tuple(shown)


def shown(value: object) -> str:
    """Formats a value from YAML for a message: 'text', true, 7, "a list", or "nothing" for null."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    if isinstance(value, list | dict):
        kind = "list" if isinstance(value, list) else "mapping"
        return f"a {kind}" if value else f"an empty {kind}"
    return single_line(str(value), 60)


def quoted(text: str) -> str:
    """Quotes a text for a message, shortened and without control characters. Text that looks secret is not quoted."""
    start = text[:1000]
    if _CREDENTIALS.search(start) or clear_text.in_text(start):
        return "a value that holds a secret"
    return f"'{single_line(text, 60)}'"
