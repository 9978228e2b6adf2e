"""Parses shell text with tree-sitter's bash grammar, and expands words whose values are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from policy.properties import Malformed

UNKNOWN = "\ue000"
"""Placeholder in a word for an unknown part: a variable of the machine, or the output of a program."""
ASKED = "\ue001"
"""Placeholder in a word for the output of a quorum check."""
HOME = "/root"
DEFAULTS: Mapping[str, str] = {"HOME": HOME, "TMPDIR": "/tmp", "IFS": " "}  # noqa: S108 - a name in a text
"""Variables that every shell sets, with usual values."""

_BRACES = re.compile(r"([^{}\s]*)\{([^{}\s]*)\}([^{}\s]*)")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_ESCAPE = re.compile(r"\\(\n|.)", re.S)
_MOST_IN_RANGE = 1000


class Unreadable(Malformed):
    """Shell text whose effect cannot be determined: it has a syntax error, or an unknown value or script."""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Node:
    """Parses shell text to a syntax tree. Raises Unreadable for invalid text; the message does not quote the text."""
    tree = _parser().parse(text.encode())
    if tree.root_node.has_error:
        raise Unreadable(f"line {_first_error(tree.root_node)} of its shell text cannot be parsed")
    return tree.root_node


def _first_error(node: Node) -> int:
    while broken := next((child for child in node.children if child.has_error or child.is_missing), None):
        node = broken
    return node.start_point.row + 1


def text_of(node: Node) -> str:
    """Returns the shell text of a syntax node."""
    return (node.text or b"").decode()


def is_known(word: str) -> bool:
    """Whether every part of the word has a known value."""
    return UNKNOWN not in word and ASKED not in word


@dataclass(frozen=True)
class _Piece:
    text: str
    splits: bool = False
    """Whether white space in the text separates words."""
    quoted: bool = False


@dataclass(frozen=True)
class Expander:
    """Expands the words of a shell script: variables, command substitutions, quotes, braces."""

    variable: Callable[[str], str]
    """Returns the value of a variable, with UNKNOWN for unknown parts."""
    output: Callable[[Node], str]
    """Returns the output of a command substitution."""

    def fields(self, node: Node) -> list[str]:
        """Expands a word with word splitting.

        Returns several words if a variable has several, [] if the result is empty.
        """
        pieces = list(self._pieces(node))
        fields: list[str] = []
        open_ = any(piece.quoted for piece in pieces)
        current = ""
        for piece in pieces:
            parts = re.split(r"\s+", piece.text) if piece.splits else [piece.text]
            current += parts[0]
            for part in parts[1:]:
                if current:
                    fields.append(current)
                current = part
        if current or open_:
            fields.append(current)
        return fields if open_ else [each for field in fields for each in _braced(field)]

    def text(self, node: Node) -> str:
        """Expands a text without word splitting, such as an assigned value, a file name or a here-document."""
        return "".join(piece.text for piece in self._pieces(node))

    def _pieces(self, node: Node, quoted: bool = False) -> Iterator[_Piece]:
        kind, text = node.type, text_of(node)
        if kind in ("word", "number", "extglob_pattern", "regex", "variable_name"):
            yield _Piece(_ESCAPE.sub(lambda each: "" if each[1] == "\n" else each[1], text), quoted=quoted)
        elif kind == "raw_string":
            yield _Piece(text[1:-1], quoted=True)
        elif kind == "ansi_c_string":
            yield _Piece(text[2:-1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'"), quoted=True)
        elif kind in ("string", "translated_string"):
            yield _Piece("", quoted=True)
            yield from self._inner(node, text.removeprefix("$")[1:-1], node.start_byte + text.index('"') + 1)
        elif kind == "heredoc_body":
            yield from self._inner(node, text, node.start_byte)
        elif kind == "concatenation":
            for child in node.children:
                yield from self._pieces(child, quoted)
        elif kind in ("simple_expansion", "expansion"):
            yield _Piece(self._expanded(node), splits=not quoted, quoted=quoted)
        elif kind in ("command_substitution", "process_substitution"):
            yield _Piece(self.output(node), splits=not quoted, quoted=quoted)
        elif kind == "arithmetic_expansion":
            yield _Piece(UNKNOWN, quoted=quoted)
        else:
            yield _Piece(text, quoted=quoted)

    def _inner(self, node: Node, text: str, start: int) -> Iterator[_Piece]:
        """Yields the parts of a text in double quotes: expansions, and the literal text between them."""
        data, at = text.encode(), start
        for child in node.named_children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                yield _Piece(_unescaped(data[at - start : child.start_byte - start].decode()), quoted=True)
                yield from self._pieces(child, quoted=True)
                at = child.end_byte
        yield _Piece(_unescaped(data[at - start :].decode()), quoted=True)

    def _expanded(self, node: Node) -> str:
        name = next((each for each in node.named_children if each.type.endswith("variable_name")), None)
        if name is None:
            return UNKNOWN
        value = self.variable(text_of(name))
        rest = text_of(node)[2:-1]
        if node.type == "simple_expansion" or rest == text_of(name):
            return value
        operator = rest.removeprefix(text_of(name))
        defaulted = operator.startswith((":-", "-", ":=", "="))
        if operator.startswith((":?", "?")) or (defaulted and value and is_known(value)):
            return value
        if defaulted:
            return "".join(self.text(each) for each in node.named_children if each.id != name.id)
        return ASKED if ASKED in value else UNKNOWN


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', lambda each: "" if each[1] == "\n" else each[1], text)


def _braced(field: str) -> list[str]:
    """Expands braces in a word: m{1,2} to m1 and m2; m{1..3} to m1, m2 and m3."""
    found = _BRACES.fullmatch(field)
    if not found:
        return [field]
    before, inner, after = found.groups()
    if span := _RANGE.fullmatch(inner):
        first, last = int(span[1]), int(span[2])
        if abs(last - first) <= _MOST_IN_RANGE:
            step = 1 if last >= first else -1
            return [f"{before}{number}{after}" for number in range(first, last + step, step)]
    return [f"{before}{part}{after}" for part in inner.split(",")] if "," in inner else [field]
