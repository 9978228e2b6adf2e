"""Suggests a known word for a misspelt one, for error messages."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_LONGEST = 100
"""Maximum length of a word that is compared, because the time of a comparison is quadratic in the length."""


def closest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Returns the choice most similar to `word`, or None if every similarity (difflib's ratio) is below `cutoff`."""
    if len(word) > _LONGEST:
        return None
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Returns " (did you mean 'x'?)" with the choice x that is most similar to `word`; "" if none is similar."""
    close = closest(word, choices)
    return f" (did you mean '{close}'?)" if close else ""


def look_alike(word: str) -> str:
    """Names a word's first non-ASCII character, as in " (has U+0430 CYRILLIC SMALL LETTER A)"; "" if it has none."""
    char = next((char for char in word if not char.isascii()), None)
    return f" (has U+{ord(char):04X} {unicodedata.name(char, '')})".replace(" )", ")") if char else ""
