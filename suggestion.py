"""Suggests the word that was meant in place of an unknown one."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_LONGEST = 100
"""Characters of a word: the comparison takes the square of its length."""


def closest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The choice most like `word`; None where the likeness (difflib's ratio, 0 to 1) of every one is below `cutoff`."""
    if len(word) > _LONGEST:
        return None
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" where one of the choices is close, else nothing."""
    close = closest(word, choices)
    return f" (did you mean '{close}'?)" if close else ""


def look_alike(word: str) -> str:
    """ " (has U+0430 CYRILLIC SMALL LETTER A)" for the first letter that is not ASCII, else nothing."""
    char = next((char for char in word if not char.isascii()), None)
    return f" (has U+{ord(char):04X} {unicodedata.name(char, '')})".replace(" )", ")") if char else ""
