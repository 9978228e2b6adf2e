"""Finds ambiguous values in YAML, which parsers may read differently than the author meant, and invisible characters.

YAML 1.1 reads `1:30` as the number 90, `0200` as 128, `2026.10` as 2026.1, and `no` as false. Pulumi reads YAML 1.2, in
which some of these values are different. Such values are reported, with the text to write instead.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from typing import cast

import yaml

from files.yaml_reader import STANDARD

_DATE, _TEXT = f"{STANDARD}timestamp", f"{STANDARD}str"
_KEYS = {_TEXT, f"{STANDARD}merge"}
_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Unicode categories of hidden characters: they control a terminal, reorder text or are invisible."""


def hidden_characters(text: str) -> Iterator[str]:
    """Yields a message about the first invisible character in a text, such as a zero-width space, if it has one."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        return
    for number, line in enumerate(text.split("\n"), start=1):
        for column, char in enumerate(line, start=1):
            if is_hidden(char):
                yield f"line {number}, column {column}: {named(char)} is invisible; remove it"
                return


def is_hidden(char: str) -> bool:
    """Whether a character is invisible. Tabs and line ends do not count."""
    return char not in "\t\n\r" and unicodedata.category(char) in _HIDDEN


def named(char: str) -> str:
    """Returns a character's code point and name, such as `U+200B ZERO WIDTH SPACE`."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


def traps(node: yaml.Node, dates: Collection[str] = ()) -> Iterator[str]:
    """Yields a message for each ambiguous value or key below a YAML node, with line and column.

    `dates`: keys whose value may be a date without quotes.
    """
    yield from _below(node, "", dates, set())


def ambiguous(node: yaml.Node) -> str:
    """Returns why a single YAML value is ambiguous, and the text to write instead; "" if it is not ambiguous."""
    return _scalar(node, may_be_date=False) if isinstance(node, yaml.ScalarNode) else ""


def _below(node: yaml.Node, name: str, dates: Collection[str], seen: set[int]) -> Iterator[str]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            if wrong := _key(key):
                yield f"{_place(key)}: {wrong}"
            yield from _below(value, str(key.value), dates, seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in cast("list[yaml.Node]", node.value):
            yield from _below(item, name, dates, seen)
    elif wrong := _scalar(node, name in dates):
        yield f"{_place(node)}: {wrong}"


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"


def _key(key: yaml.Node) -> str:
    if not isinstance(key, yaml.ScalarNode):
        return "a key is a list or a mapping; write text"
    hidden = _hidden(str(key.value))
    if hidden or key.tag in _KEYS:
        return hidden
    text = str(key.value)
    return f"the key {_cut(text)} is not text; put it in quotes" if text else "a key is empty; write text"


def _scalar(node: yaml.Node, may_be_date: bool) -> str:
    text = str(node.value)
    if hidden := _hidden(text):
        return hidden
    if cast("yaml.ScalarNode", node).style:
        return ""
    if node.tag == _DATE and not (may_be_date and len(text) == len("2027-01-31")):
        return f"{_cut(text)} is read as a date; put it in quotes"
    if node.tag == f"{STANDARD}bool" and text not in ("true", "false"):
        return f"{_cut(text)} is read as true or false; write true or false, or put it in quotes"
    read = _number(str(node.tag).removeprefix(STANDARD), text)
    return _misread(text, read) if read and read != text else ""


def _misread(text: str, read: str) -> str:
    if read in ("nan", "inf", "-inf"):
        return f"{_cut(text)} is not a finite number; write a number"
    return (
        f"{_cut(text)} is read as the number {_cut(read)}; write {_cut(read)}, or put it in quotes to keep it as text"
    )


def _number(kind: str, text: str) -> str | None:
    """Returns the number that YAML 1.1 reads from a value, as Python writes it; None if the value is not a number."""
    if kind not in ("int", "float"):
        return None
    try:
        return str(yaml.safe_load(text))
    except (ValueError, LookupError, yaml.YAMLError):
        return None  # yaml_reader reports the invalid number


def _hidden(text: str) -> str:
    char = next((char for char in text if is_hidden(char)), None) if not text.isprintable() else None
    return f"{named(char)} is invisible; remove it" if char else ""


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"
