"""What is wrong with a stack, said so that its reader can mend it.

A problem names the key, what is wrong there and what to write instead. Code that finds one goes on and collects the
others: a person who mends a stack file wants to hear everything in one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One thing to mend: `key` as it stands in the stack file, `message` with what is wrong and what to write."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


class InvalidStackError(Exception):
    """A stack that cannot be built as written. `problems` holds every one that was found, never empty."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))
