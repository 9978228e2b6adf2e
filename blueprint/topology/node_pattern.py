"""Compiles the regular expressions under `nodes` of a topology, and refuses those that could take too long to match.

Fuel-CCP took any expression of Python's `re`, which backtracks: `(a+)+$` takes 2^60 steps for a name of 60 letters. An
expression is refused if it can try too many ways to match. An accepted expression matches exactly as in Fuel-CCP, which
another engine, such as RE2, would not guarantee.
"""

from __future__ import annotations

import re
import warnings

MOST_WAYS = 300_000
"""Most ways to match one name that all expressions of a topology may try: about a second for 1,000 nodes."""
_NAME = 64
"""Positions in a name (63 characters and the end) at which a repetition can stop."""
_LONGEST = 500
_TOKEN = re.compile(
    r"(?P<backreference>\\[1-9]|\(\?P=)"
    r"|(?P<open>\((?:\?:|\?P<\w{1,50}>)?)(?!\?)"
    r"|(?P<special>\(\?)"
    r"|(?P<close>\))|(?P<or>\|)"
    r"|(?P<repeat>[*+]|\{[0-9]*,?[0-9]*\})[?+]?"
    r"|(?P<optional>\?)[?+]?"
    r"|(?P<atom>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)",
    re.DOTALL,
)


class PatternError(ValueError):
    """An expression that cannot be used. The message says why, such as `is not a valid regular expression: …`."""


def compiled(text: str) -> tuple[re.Pattern[str], int]:
    """Returns the compiled expression and how many ways it can try to match one name. Raises PatternError."""
    if len(text) > _LONGEST:
        raise PatternError(f"has {len(text)} characters, more than {_LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"is not a valid regular expression: {error}") from None
    return pattern, _ways(text)


def _ways(text: str) -> int:
    """Upper bound of ways to match: alternatives add, sequences multiply, a repetition has one way per position."""
    levels = [_Level()]
    for token in _TOKEN.finditer(text):
        level, kind = levels[-1], token.lastgroup
        if kind in ("backreference", "special"):
            raise PatternError(
                f"uses {token[0]}, which can take exponential time; write it without look-around, flag or reference"
            )
        if kind == "open":
            levels.append(_Level())
        elif kind == "close":
            levels.pop()
            levels[-1].add(level.total)
        elif kind == "or":
            level.branch()
        elif kind == "repeat":
            level.repeat(token[0])
        elif kind == "optional":
            level.last += 1
        else:
            level.add(1)
    return levels[0].total


class _Level:
    """The ways to match an open group, counted so far."""

    def __init__(self) -> None:
        self._branches = 0
        self._ways = 1
        self.last = 1
        """Ways of the last part, which a following `*`, `+`, `?` or `{…}` applies to."""

    @property
    def total(self) -> int:
        return self._branches + self._ways * self.last

    def add(self, ways: int) -> None:
        self._ways, self.last = self._ways * self.last, ways

    def branch(self) -> None:
        self._branches, self._ways, self.last = self.total, 1, 1

    def repeat(self, sign: str) -> None:
        if self.last > 1:
            raise PatternError(f"repeats with {sign} a part that repeats or chooses itself; write one repetition")
        self.last = _NAME
