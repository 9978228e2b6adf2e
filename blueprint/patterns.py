"""Expands patterns that stand for several names: `cmp[0001-1000]`, `ctl[01-03,07]`, `r[1-2]s[1-4]`.

Numbers keep the width as written (`[001-100]` gives 001, 002, …). A pattern with several brackets gives every
combination; the number in the last bracket changes first. A pattern of server names has at most one bracket, whose
number determines address and rack.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from math import prod

from blueprint.problems import quoted
from text.quoting import single_line
from text.suggestion import look_alike

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_DIGITS = re.compile(r"[0-9]+")
_PART = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_PART}(\.{_PART})*")
_LONGEST_NAME = 63
"""Characters of a name. Kubernetes allows 253, but kubelet writes the name into the label kubernetes.io/hostname, and
Quorate into quorate.io/server, whose values have 63 at most."""

LARGEST = 10_000
"""Maximum number of names of one pattern, to catch typing errors: ten times the largest reference architecture."""
_MOST_BRACKETS = 4


def expand(pattern: str) -> list[str]:
    """Returns the names of a pattern, in order. Raises ValueError if the pattern is invalid or has too many names.

    The error's message tells what to write instead.
    """
    parts = _BRACKET.split(pattern)
    literals, bodies = parts[::2], parts[1::2]
    if any("[" in text or "]" in text for text in literals):
        raise ValueError(f"{quoted(pattern)} has a bracket without its partner; write for example cmp[001-100]")
    if len(bodies) > _MOST_BRACKETS:
        raise ValueError(f"{quoted(pattern)} has {len(bodies)} brackets; write at most {_MOST_BRACKETS}")
    choices = [_numbers(body, pattern) for body in bodies]
    total = prod(len(choice) for choice in choices)
    if total > LARGEST:
        raise ValueError(f"{quoted(pattern)} stands for {total} names, more than {LARGEST}; write a smaller range")
    return [_join(literals, numbers) for numbers in itertools.product(*choices)]


def expand_numbered(pattern: str) -> dict[str, int | None]:
    """Maps each name of a pattern to the number from the bracket; to None if the pattern has no bracket.

    Raises ValueError for an invalid pattern, more than one bracket, or a name that repeats.
    """
    names = expand(pattern)
    bodies = _BRACKET.findall(pattern)
    if len(bodies) > 1:
        first = "".join(_join(_BRACKET.split(pattern)[::2], (_numbers(bodies[0], pattern)[0], f"[{bodies[1]}]")))
        raise ValueError(
            f"{quoted(pattern)} has {len(bodies)} brackets; a server's address and rack follow one number: write an "
            f"entry for each, such as {first}"
        )
    numbers = [int(number) for body in bodies for number in _numbers(body, pattern)]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{quoted(pattern)} names {name} twice; write each number once")
    return dict(zip(names, numbers or [None], strict=True))


def narrow(pattern: str, names: Sequence[str]) -> str:
    """Returns a pattern for some names (`names`) of a pattern with one bracket:

    `ctl[01-02,07]` for 3 of `ctl[01-09]`.
    """
    if len(names) == 1:
        return names[0]
    before, _, after = _BRACKET.split(pattern)
    runs: list[tuple[str, str]] = []
    for name in names:
        number = name[len(before) : len(name) - len(after)]
        if runs and str(int(runs[-1][1]) + 1).zfill(len(runs[-1][0])) == number:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    parts = (first if first == last else f"{first}-{last}" for first, last in runs)
    return f"{before}[{','.join(parts)}]{after}"


def number_in(name: str) -> int | None:
    """Returns the last number in a name, such as 3 for `ctl03` and `ctl03.zone1`, or None if it has no digit.

    The domain of a name is not part of it.
    """
    found = _DIGITS.findall(name.partition(".")[0])
    return int(found[-1]) if found else None


def check_name(name: str) -> None:
    """Raises ValueError if a name cannot name a node: a host name, alone or with its domain."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ValueError(
            f"{quoted(name)}{look_alike(name)} cannot name a node; write lower-case letters, digits and '-', "
            f"{_LONGEST_NAME} at most, beginning and ending with a letter or digit, and '.' between such parts"
        )


def _numbers(body: str, pattern: str) -> list[str]:
    numbers: list[str] = []
    where = f"'[{single_line(body, 60)}]' in {quoted(pattern)}"
    for part in body.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise ValueError(f"{where} is not a valid range; write for example [01-09] or [1,3,5-7]")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise ValueError(f"{where} matches nothing, it runs backwards; write [{last}-{first}]")
        if len(numbers) + int(last) - int(first) >= LARGEST:
            raise ValueError(f"{where} stands for more than {LARGEST} names; write a smaller range")
        numbers.extend(str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    return numbers


def _join(literals: list[str], numbers: tuple[str, ...]) -> str:
    pairs = itertools.zip_longest(literals, numbers, fillvalue="")
    return "".join(text for pair in pairs for text in pair)
