"""Suggests a known word for an unknown one."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_LONGEST = 100
"""Longest word that is compared, since the comparison's time is quadratic in the length."""


def closest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Returns the choice most similar to `word`, or None if every similarity (difflib's ratio) is below `cutoff`."""
    if len(word) > _LONGEST:
        return None
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Returns " (did you mean 'x'?)" if a choice is similar, else an empty text."""
    close = closest(word, choices)
    return f" (did you mean '{close}'?)" if close else ""


def look_alike(word: str) -> str:
    """Returns " (has U+0430 CYRILLIC SMALL LETTER A)" for the first non-ASCII character, else an empty text."""
    char = next((char for char in word if not char.isascii()), None)
    return f" (has U+{ord(char):04X} {unicodedata.name(char, '')})".replace(" )", ")") if char else ""
