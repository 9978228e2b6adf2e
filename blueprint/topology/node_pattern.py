"""The regular expressions under `nodes` of a topology, within bounds: none takes longer than a moment to match.

Fuel-CCP took any expression of Python's `re`, which tries every way to match: `(a+)+$` takes 2^60 steps for a name of
60 letters. An expression is refused if the number of ways that it can try is not small. What is accepted means what it
meant to Fuel-CCP, which another engine, such as RE2, would not guarantee.
"""

from __future__ import annotations

import re
import warnings

MOST_WAYS = 300_000
"""Ways that all expressions of a topology together may try for one name: about a second for 1,000 nodes."""
_NAME = 64
"""Characters of a name, and the end: a repetition can stop at each of them."""
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
    """The expression, and how many ways it can try to match one name. Raises PatternError."""
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
    """Upper bound: a choice adds its branches, a sequence multiplies its parts, a repetition can stop anywhere."""
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
    """What is known of a group so far, its end open."""

    def __init__(self) -> None:
        self._branches = 0
        self._ways = 1
        self.last = 1
        """Ways of the part that a repetition would repeat."""

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
