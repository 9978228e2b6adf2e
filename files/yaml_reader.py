"""Reads YAML with PyYAML: the values, the line of each key, duplicate keys, and the size with expanded aliases.

Depth and number of values are limited while a document is read, so that it cannot overflow the C stack or fill the
memory. The result contains only plain values, and no tag runs code. Error messages contain line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, cast

import yaml

LARGEST = 100_000
"""Maximum number of values in a document with aliases expanded; few lines of nested aliases can expand to billions."""
MOST_TEXT = 32 * 1024**2
"""Maximum number of characters of all values with aliases expanded: eight times the largest stack file."""
DEEPEST = 100
"""Maximum nesting of mappings and lists. A stack file has 8 levels, a Kubernetes schema about 40."""
_DIRECTIVES = 10
"""Maximum number of directives (lines that begin with %) in a text; libyaml compares each with all previous ones."""
_LONGEST_PATH = 300
_MOST_TWINS = 20

STANDARD = "tag:yaml.org,2002:"
"""Prefix of YAML's standard tags."""
_MERGE = f"{STANDARD}merge"


class YamlError(Exception):
    """Invalid YAML, or a value that is not plain. The message begins with line and column if they are known."""


@dataclass(frozen=True)
class YamlEntry:
    """A key of a mapping or an item of a list in a YAML document, with its line."""

    path: str
    """Path from the top of the document, such as `config.servers[2].name`."""
    line: int
    """Line number, from 1."""
    is_twin: bool = False
    """Whether the mapping has the same key on an earlier line. PyYAML uses the last value and reports no error."""
    text: str | None = None
    """The value as written in the file; None for a mapping or a list."""


class Bounds:
    """Mixin of a PyYAML loader that rejects a document with too many levels or nodes while reading it."""

    _level = 0
    _nodes = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: object) -> None:
        """Counts nodes and levels before PyYAML reads a node. Raises MarkedYAMLError if there are too many."""
        del current_index
        self._level += 1
        self._nodes += 1
        mark = current_node.start_mark if current_node else None
        if self._level > DEEPEST:
            raise yaml.MarkedYAMLError(None, None, f"nests more than {DEEPEST} levels; write it flatter", mark)
        if self._nodes > LARGEST:
            raise yaml.MarkedYAMLError(None, None, f"has more than {LARGEST} values; write fewer", mark)

    def ascend_resolver(self) -> None:
        """Ends a level of nesting. PyYAML calls this method after it has read a node."""
        self._level -= 1


def loader(base: Any) -> Any:
    """Returns a subclass of a PyYAML safe loader (`base`) that limits documents' size and reports invalid values."""
    made: Any = type("Loader", (Bounds, base), {})
    for kind, words in _SCALARS.items():
        made.add_constructor(f"{STANDARD}{kind}", _scalar(base.yaml_constructors[f"{STANDARD}{kind}"], words))
    return made


def _scalar(construct: Callable[[Any, yaml.Node], object], words: str) -> Callable[[Any, yaml.Node], object]:
    """Wraps a PyYAML constructor, so that a value that does not fit its tag, such as `!!int x`, raises MarkedYAMLError.

    `words`: the expected value for the message, such as "a whole number".
    """

    def checked(made: Any, node: yaml.Node) -> object:
        try:
            return construct(made, node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            text = str(node.value)
            shown = f"'{text}'" if len(text) <= 40 else f"a value of {len(text)} characters"
            raise yaml.MarkedYAMLError(None, None, f"{shown} is not {words}", node.start_mark) from None

    return checked


_SCALARS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "timestamp": "a date; write one such as 2027-01-31, or put text in quotes",
    "binary": "base64",
}

LOADER: Any = loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
"""The default loader. Uses libyaml if PyYAML was built with it, which is about ten times as fast as pure Python."""


class Document:
    """One YAML document of a text, which may contain several, separated by lines of ---."""

    def __init__(self, loader: Any, node: yaml.Node | None, *, plain: bool = False) -> None:
        """`node`: the document's root node, None for an empty text. `loader`: the PyYAML loader that has read it.

        `plain`: the text has neither aliases nor merge keys (<<), so that `value` need not look at the nodes first.
        """
        self._loader = loader
        self.node = node
        self._plain = plain

    @cached_property
    def value(self) -> Any:
        """The document's value. Raises YamlError for an unknown tag or a value that does not fit its tag."""
        if self.node is None:
            return None
        if not self._plain:
            self.check_size()
            _ = self.twins  # computed first: construction adds merged keys to the nodes, where they look like twins
        try:
            return self._loader.construct_document(self.node)
        except yaml.YAMLError as error:
            raise YamlError(_fault(error)) from None

    @cached_property
    def entries(self) -> tuple[YamlEntry, ...]:
        """The document's keys and list items, in the order of the text. Content with several aliases is listed once."""
        return tuple(_entries(self.node, "", set())) if self.node else ()

    @cached_property
    def twins(self) -> tuple[YamlEntry, ...]:
        """The document's first duplicate keys, at most 20: keys that occur earlier in the same mapping."""
        found = _entries(self.node, "", set()) if self.node else ()
        return tuple(islice((entry for entry in found if entry.is_twin), _MOST_TWINS))

    @cached_property
    def size(self) -> int | None:
        """Number of values in the document with aliases expanded; None if an alias contains itself."""
        weight = self._weight
        return weight.values if weight else None

    @cached_property
    def _weight(self) -> _Weight | None:
        return _weigh(self.node, {}) if self.node else _Weight(0, 0, 0)

    def check_size(self) -> None:
        """Raises YamlError if the document with aliases expanded is too large or too deep."""
        if self._weight is None:
            raise YamlError("an alias contains itself; write its content out")
        weight = self._weight
        if weight.values > LARGEST:
            raise YamlError(f"stands for {weight.values} values with its aliases; write fewer")
        if weight.text > MOST_TEXT:
            raise YamlError(f"stands for {weight.text >> 20} MB of text with its aliases; write fewer")
        if weight.levels > DEEPEST:
            raise YamlError(f"nests {weight.levels} levels with its aliases; write at most {DEEPEST}")


def parse(text: str, loader: Any = LOADER) -> Iterator[Document]:
    """Yields the YAML documents of a text. Raises YamlError if the text is not YAML.

    `loader`: a class that the function `loader()` has made, for callers that support additional tags.
    """
    if len(re.findall("^%", text, re.MULTILINE)) > _DIRECTIVES:
        raise YamlError(f"has more than {_DIRECTIVES} lines that begin with %; leave YAML directives out")
    plain = "*" not in text and "<<" not in text and len(text) <= MOST_TEXT
    try:
        reader = loader(str(text))  # PyYAML accepts no subclass of str, such as the policy's secret texts
        while reader.check_node():
            yield Document(reader, reader.get_node(), plain=plain)
    except yaml.YAMLError as error:
        raise YamlError(_fault(error)) from None
    except ValueError:  # half of a surrogate pair, which has no UTF-8 form
        raise YamlError("has a character that is not Unicode text") from None


def read(text: str) -> Document:
    """Returns the only YAML document of a text. Raises YamlError if it is invalid, too large, or one of several."""
    documents = list(islice(parse(text), 2))
    if len(documents) > 1:
        raise YamlError("holds several documents; write one, without a line of ---")
    document = documents[0] if documents else Document(None, None)
    document.check_size()
    return document


def load(text: str) -> Any:
    """Returns the value of the only YAML document of a text. Raises YamlError if it is invalid or one of several."""
    return read(text).value


def load_own(text: str) -> Any:
    """Returns the value of a text that is a part of Quorate, whose tests have read it with `read`. Checks nothing."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader


def load_all(text: str) -> list[Any]:
    """Returns the values of all YAML documents of a text. Raises YamlError if the text is not YAML."""
    return [document.value for document in parse(text)]


def to_json(value: Mapping[str, Any]) -> str:
    """Converts plain YAML values to JSON; dates become text such as 2027-01-31."""
    return json.dumps(value, default=str)


def _entries(node: yaml.Node, path: str, seen: set[int]) -> Iterator[YamlEntry]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if len(path) > _LONGEST_PATH:
        path = f"…{path[-_LONGEST_PATH // 2 :]}"
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            below = path
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                name = str(key.value)
                below = f"{path}.{name}" if path else name
                yield YamlEntry(below, key.start_mark.line + 1, name in names, _text(value))
                names.add(name)
            yield from _entries(value, below, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(cast("list[yaml.Node]", node.value)):
            below = f"{path}[{number}]"
            yield YamlEntry(below, item.start_mark.line + 1, text=_text(item))
            yield from _entries(item, below, seen)


def _text(node: yaml.Node) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


@dataclass(frozen=True)
class _Weight:
    """What a node stands for with aliases expanded: values, characters of text, and levels of nesting."""

    values: int
    text: int
    levels: int


def _weigh(node: yaml.Node, known: dict[int, _Weight | None]) -> _Weight | None:
    """Returns what a node stands for; None if an alias contains itself."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = None  # marks a node in progress, so that an alias to itself is detected
    size, text, depth = 1, len(_text(node) or ""), 0
    for child in _children(node):
        weight = _weigh(child, known)
        if weight is None:
            return None
        size, text, depth = size + weight.values, text + weight.text, max(depth, weight.levels)
    known[id(node)] = _Weight(size, text, depth + 1)
    return known[id(node)]


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)
    elif isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield key
            yield value


def _fault(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    said = error.problem or error.context or "is not valid"
    if "could not determine a constructor" in said:
        tag = said.rpartition("tag ")[2].strip("'").replace(STANDARD, "!!")
        said = "'=' has a meaning of its own; put it in quotes" if tag == "!!value" else f"has the tag {tag}; remove it"
    said += next((f"; {advice}" for words, advice in _REMEDIES.items() if words in said), "")
    mark = error.problem_mark
    return f"line {mark.line + 1}, column {mark.column + 1}: {said}" if mark else said


_REMEDIES = {
    "unhashable key": "a key is one word: put text with braces in quotes",
    "expected key": "write `key: value`, as far to the right as the keys beside it",
    "expected '-' indicator": "write `- ` before each item, as far to the right as the others",
    "expected ',' or": "close the bracket or the brace, and put commas between its values",
    "expected node content": "write a value, or close the bracket before it",
    "cannot start any token": "indent with spaces, not tabs, and put text that begins with %, @ or ` in quotes",
    "unexpected end of stream": "close the quotes",
    "mapping values are not allowed": "put text with ': ' in quotes, or write the key on a line of its own",
    "undefined alias": "put text that begins with * in quotes",
    "expected alphabetic or numeric character": "put text that begins with * or & in quotes",
    "control characters are not allowed": "remove the character",
    "unknown escape character": "write text with \\ in single quotes",
    "simple key": "put the key and its ':' on one line",
    "block sequence entries are not allowed": "write the list below its key, or as [a, b]",
}
"""What to write instead, by words of libyaml's messages, which name what its parser expected."""
