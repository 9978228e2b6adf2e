"""Validation errors of a stack: the key, what is wrong, and what to write instead.

Code that finds a problem continues and collects the others, so that one run reports all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One error: `key` as written in the stack file, `message` with what is wrong and what to write instead."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


class InvalidStackError(Exception):
    """Raised for an invalid stack. `problems` holds every error found and is never empty."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))
