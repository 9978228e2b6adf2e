"""Compiles the regular expressions under `nodes` of a topology, and rejects those that could take too long to match.

Fuel-CCP accepted any expression of Python's `re`, which backtracks: `(a+)+$` takes 2^60 steps for a name of 60 letters.
This module rejects an expression that can try too many ways to match. It also uses `re`, because an accepted expression
must match exactly as in Fuel-CCP, which another library, such as RE2, would not guarantee.
"""

from __future__ import annotations

import re
import warnings

MOST_WAYS = 300_000
"""Maximum number of ways to match one name, for all expressions of a topology: about a second for 1,000 nodes."""
_NAME = 64
"""Number of positions in a node's name (63 characters and the end) at which a repetition can stop."""
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
    """Returns the compiled regular expression, and how many ways it can try to match one name.

    Raises PatternError if the expression is invalid or cannot be used.
    """
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
    """Returns an upper bound of the ways in which a regular expression can try to match one name.

    Ways of alternatives are added, ways of a sequence are multiplied, and a repetition has one way for each position.
    """
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
    """Counts the ways to match one group of a regular expression while the expression is read."""

    def __init__(self) -> None:
        self._branches = 0
        self._ways = 1
        self.last = 1
        """Ways of the last part of the group, to which a following `*`, `+`, `?` or `{…}` applies."""

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
