"""Computes what sed makes of a text, for the commands that scripts use: s, d, a, i and c, with addresses.

Regular expressions are translated to Python's. sed takes the longest of several alternatives and Python the first,
which makes no difference for the edits of settings that scripts do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.shell.arguments import arguments
from policy.shell.syntax import is_known

_CLASSES = {"space": r"\s", "blank": r" \t", "digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "upper": "A-Z"}
_SPECIAL = "(){}|+?"
"""Characters that are operators with a backslash in a basic expression, and without one in an extended expression."""
_ESCAPES = {"<": r"\b", ">": r"\b", "b": r"\b", "n": r"\n", "t": r"\t", "s": r"\s", "S": r"\S", "w": r"\w", "W": r"\W"}
_VALUED = ("-e", "--expression", "-f", "--file", "-l", "--line-length")
_IN_PLACE = re.compile(r"-[nErsuz]*i.*|--in-place.*")


class Uncomputed(Exception):
    """A sed program with a command or an expression whose result this module does not compute."""


@dataclass(frozen=True)
class SedCall:
    """The arguments of a call of sed."""

    program: str
    files: tuple[str, ...]
    in_place: bool
    extended: bool
    quiet: bool

    def of(self, text: str) -> str:
        """Returns what sed makes of a text. Raises Uncomputed if this module cannot compute it."""
        if self.quiet or not is_known(self.program):
            raise Uncomputed
        edits = _parsed(self.program, extended=self.extended)
        lines = text.split("\n")
        ends = lines[-1] == ""
        lines = lines[:-1] if ends else lines
        active: dict[int, bool] = {}
        made: list[str] = []
        for number, line in enumerate(lines, 1):
            made += _edited(edits, line, number, len(lines), active)
        return "\n".join(made) + ("\n" if ends and made else "")


def sed_call(words: Sequence[str]) -> SedCall:
    """Reads the words after sed. Raises Uncomputed if the program is in a file."""
    given = arguments(words, _VALUED)
    named = [option.partition("=") for option in given.options]
    if any(name in ("-f", "--file") for name, _, _ in named):
        raise Uncomputed
    programs = [value for name, _, value in named if name in ("-e", "--expression")]
    operands = given.operands
    if not programs:
        programs, operands = list(operands[:1]), operands[1:]
    flags = [name for name, _, _ in named]
    return SedCall(
        "\n".join(programs),
        operands,
        in_place=any(_IN_PLACE.fullmatch(flag) for flag in flags),
        extended=given.has("-E", "-r", "--regexp-extended"),
        quiet=given.has("-n", "--quiet", "--silent"),
    )


@dataclass(frozen=True)
class _Address:
    line: int = 0
    last: bool = False
    pattern: re.Pattern[str] | None = None

    def matches(self, line: str, number: int, count: int) -> bool:
        if self.pattern:
            return bool(self.pattern.search(line))
        return number == (count if self.last else self.line)


@dataclass(frozen=True)
class _Edit:
    does: str
    """s, d, a, i or c."""
    addresses: tuple[_Address, ...]
    inverted: bool
    text: str = ""
    """Text of a, i and c; replacement of s."""
    pattern: re.Pattern[str] | None = None
    count: int = 1
    """How many matches of a line s replaces; 0 for all."""

    def selects(self, line: str, number: int, lines: int, active: dict[int, bool]) -> bool:
        """Whether the edit applies to a line. `active`: ranges that have begun, by the edit's identity."""
        return self._selects(line, number, lines, active) is not self.inverted

    def _selects(self, line: str, number: int, lines: int, active: dict[int, bool]) -> bool:
        if len(self.addresses) < 2:
            return all(each.matches(line, number, lines) for each in self.addresses)
        first, last = self.addresses
        if active.get(id(self)):
            active[id(self)] = not last.matches(line, number, lines)
            return True
        if first.matches(line, number, lines):
            active[id(self)] = not (last.line and last.line <= number)
            return True
        return False


def _edited(edits: Sequence[_Edit], line: str, number: int, lines: int, active: dict[int, bool]) -> list[str]:
    before, after = list[str](), list[str]()
    for each in edits:
        if not each.selects(line, number, lines, active):
            continue
        if each.does in "dc":
            return [*before, each.text] if each.does == "c" else before
        if each.does == "i":
            before.append(each.text)
        elif each.does == "a":
            after.append(each.text)
        elif each.pattern:
            line = each.pattern.sub(each.text, line, count=each.count)
    return [*before, line, *after]


class _Reader:
    def __init__(self, text: str, *, extended: bool) -> None:
        self.text = text
        self.at = 0
        self.extended = extended

    @property
    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, characters: str) -> None:
        while self.next and self.next in characters:
            self.at += 1

    def until(self, delimiter: str) -> str:
        """Returns the text up to the delimiter, which may be escaped, and moves behind it."""
        found = ""
        while (one := self.next) != delimiter:
            if not one:
                raise Uncomputed
            self.at += 1
            if one == "\\":
                one, self.at = one + self.next, self.at + 1
                one = one[1:] if one[1:] == delimiter else one
            found += one
        self.at += 1
        return found

    def line(self) -> str:
        """Returns the rest of the line."""
        rest = self.text[self.at :].partition("\n")[0]
        self.at += len(rest)
        return rest

    def address(self) -> _Address | None:
        self.skip(" \t")
        if self.next.isdecimal():
            digits = re.match(r"\d+", self.text[self.at :])
            self.at += len(digits[0]) if digits else 0
            return _Address(line=int(digits[0])) if digits else None
        if self.next == "$":
            self.at += 1
            return _Address(last=True)
        if self.next not in ("/", "\\"):
            return None
        self.at += 1
        delimiter = "/"
        if self.text[self.at - 1] == "\\":
            delimiter, self.at = self.next, self.at + 1
        pattern = _pattern(self.until(delimiter), extended=self.extended)
        if self.text[self.at : self.at + 1] == "I":
            self.at += 1
            pattern = re.compile(pattern.pattern, re.IGNORECASE)
        return _Address(pattern=pattern)


def _parsed(program: str, *, extended: bool) -> list[_Edit]:
    reader = _Reader(program, extended=extended)
    found: list[_Edit] = []
    while True:
        reader.skip(" \t\n;")
        if not reader.next:
            return found
        if reader.next == "#":
            reader.line()
            continue
        found.append(_next(reader))


def _next(reader: _Reader) -> _Edit:
    addresses: list[_Address] = []
    while (address := reader.address()) is not None:
        addresses.append(address)
        reader.skip(" \t")
        if reader.next != ",":
            break
        reader.at += 1
    reader.skip(" \t")
    inverted = reader.next == "!"
    reader.skip("! \t")
    does = reader.next
    reader.at += 1
    if len(addresses) > 2 or not does or does not in "sdaic":
        raise Uncomputed
    if does == "s":
        return _substitution(reader, tuple(addresses), inverted)
    if does == "d":
        return _Edit(does, tuple(addresses), inverted)
    text = reader.line().strip().removeprefix("\\").lstrip()
    if not text:  # `a\` with the text on the next line
        reader.at += 1
        text = reader.line()
    return _Edit(does, tuple(addresses), inverted, text)


def _substitution(reader: _Reader, addresses: tuple[_Address, ...], inverted: bool) -> _Edit:
    delimiter = reader.next
    reader.at += 1
    pattern = reader.until(delimiter)
    replacement = reader.until(delimiter)
    flags = re.match(r"[gIi]*", reader.text[reader.at :])
    letters = flags[0] if flags else ""
    reader.at += len(letters)
    if reader.next not in ("", ";", "\n", " ", "}", "#"):
        raise Uncomputed
    compiled = _pattern(pattern, extended=reader.extended)
    if "i" in letters.lower():
        compiled = re.compile(compiled.pattern, re.IGNORECASE)
    count = 0 if "g" in letters else 1
    return _Edit("s", addresses, inverted, _replacement(replacement), compiled, count)


def _pattern(text: str, *, extended: bool) -> re.Pattern[str]:
    """Translates a regular expression of POSIX to one of Python."""
    made, at = "", 0
    while at < len(text):
        one = text[at]
        if one == "[":
            inside, at = _bracket(text, at)
            made += inside
            continue
        at += 1
        if one == "\\" and at < len(text):
            one, at = text[at], at + 1
            operator = one in _SPECIAL and not extended
            made += one if operator else _ESCAPES.get(one) or (f"\\{one}" if one.isdecimal() else re.escape(one))
        elif one in _SPECIAL and not extended:
            made += f"\\{one}"
        elif one == "*" and made in ("", "^"):
            made += r"\*"
        else:
            made += one if one in ".*^$" or (one in _SPECIAL and extended) else re.escape(one)
    try:
        return re.compile(made)
    except re.error:
        raise Uncomputed from None


def _bracket(text: str, start: int) -> tuple[str, int]:
    """Translates a bracket expression. Returns it with the position behind it."""
    end = start + 1
    end += text[end : end + 1] == "^"
    end += text[end : end + 1] == "]"
    while end < len(text) and text[end] != "]":
        close = text.find(":]", end) if text[end : end + 2] == "[:" else -1
        end = close + 2 if close > 0 else end + 1
    if end >= len(text):
        raise Uncomputed
    inside = text[start + 1 : end].replace("\\", r"\\")
    inside = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], ""), inside)
    return f"[{inside.replace('[', chr(92) + '[')}]", end + 1


def _replacement(text: str) -> str:
    made, at = "", 0
    while at < len(text):
        one = text[at]
        at += 1
        if one == "&":
            made += r"\g<0>"
        elif one == "\\" and at < len(text):
            one, at = text[at], at + 1
            if one in "ULElu":
                raise Uncomputed
            made += rf"\g<{one}>" if one.isdecimal() else "\n" if one in "n\n" else "\\\\" if one == "\\" else one
        else:
            made += one
    return made
