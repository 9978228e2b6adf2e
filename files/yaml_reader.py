"""Reads YAML on PyYAML's node graph: values, the line of every key, keys written twice, the size with aliases.

libyaml parses, about ten times as fast as Python's own parser. The latter reads what libyaml's binding cannot: where
PyYAML was built without it, and text that may nest so deeply that the binding's recursion overflows the C stack. Only
plain values are made; no tag calls code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import yaml

LOADERS: tuple[Any, Any] = (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader)
"""libyaml's loader, and Python's own."""
_DEEP = 2000
"""Brackets, or columns of a line: with fewer of both, a document nests a few thousand levels at most."""
LARGEST = 200_000
"""Values that a document may stand for with its aliases written out: a few lines of aliases can stand for billions."""

_MERGE = "tag:yaml.org,2002:merge"


class YamlError(Exception):
    """Text that is not YAML, or no plain value. The message begins with line and column where they are known."""


@dataclass(frozen=True)
class Entry:
    """A key of a mapping, or an item of a list."""

    path: str
    """From the top, such as `config.servers[2].name`."""
    line: int
    """Counted from one."""
    is_twin: bool = False
    """Whether the same mapping has the key on an earlier line; YAML itself keeps the last one without a word."""
    text: str | None = None
    """The value as it is written, where it is neither a mapping nor a list."""


class Document:
    """One document of a text."""

    def __init__(self, loader: Any, node: yaml.Node | None) -> None:
        """`loader` has composed `node`; None stands for an empty text."""
        self._loader = loader
        self.node = node

    @cached_property
    def value(self) -> Any:
        """The document as plain values. Raises YamlError for an unknown tag or a date that is none."""
        if self.node is None:
            return None
        try:
            return self._loader.construct_document(self.node)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise YamlError(_fault(error)) from None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every key and every item of a list, in the order of the text; what an alias repeats is named once.

        Raises YamlError for a document that nests too deeply.
        """
        try:
            return tuple(_entries(self.node, "", set())) if self.node else ()
        except RecursionError as error:
            raise YamlError(_fault(error)) from None

    @property
    def twins(self) -> tuple[Entry, ...]:
        """Keys that are written again in the same mapping."""
        return tuple(entry for entry in self.entries if entry.is_twin)

    @cached_property
    def size(self) -> int | None:
        """How many values the document stands for with its aliases written out; None where one contains itself.

        Raises YamlError for a document that nests too deeply.
        """
        try:
            return _weigh(self.node, {}) if self.node else 0
        except RecursionError as error:
            raise YamlError(_fault(error)) from None


def parse(text: str, loaders: tuple[Any, Any] = LOADERS) -> Iterator[Document]:
    """Every document of a text. Raises YamlError where it is not YAML.

    `loaders`: a reader's own kinds of the two loaders, if it knows tags beyond YAML's own.
    """
    brackets = text.count("[") + text.count("{")
    is_deep = brackets > _DEEP or any(len(line) > _DEEP for line in text.splitlines())
    try:
        reader = loaders[is_deep](text)
        while reader.check_node():
            yield Document(reader, reader.get_node())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(_fault(error)) from None


def read(text: str) -> Document:
    """The one document of a text. Raises YamlError where it is not YAML, has several, or is larger than LARGEST."""
    documents = list(parse(text))
    if len(documents) > 1:
        raise YamlError("holds several documents; write one, without a line of ---")
    document = documents[0] if documents else Document(None, None)
    if document.size is None:
        raise YamlError("an alias contains itself; write its content out")
    if document.size > LARGEST:
        raise YamlError(f"stands for {document.size} values with its aliases; write fewer")
    return document


def load(text: str) -> Any:
    """The value of a text with one document. Raises YamlError as `read` does."""
    return read(text).value


def load_all(text: str) -> list[Any]:
    """The values of all documents of a text. Raises YamlError where it is not YAML."""
    return [document.value for document in parse(text)]


def to_json(value: Mapping[str, Any]) -> str:
    """YAML's plain values as JSON; a date becomes its ISO text."""
    return json.dumps(value, default=str)


def _entries(node: yaml.Node, path: str, seen: set[int]) -> Iterator[Entry]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            below = path
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                name = str(key.value)
                below = f"{path}.{name}" if path else name
                yield Entry(below, key.start_mark.line + 1, name in names, _text(value))
                names.add(name)
            yield from _entries(value, below, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(cast("list[yaml.Node]", node.value)):
            below = f"{path}[{number}]"
            yield Entry(below, item.start_mark.line + 1, text=_text(item))
            yield from _entries(item, below, seen)


def _text(node: yaml.Node) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _weigh(node: yaml.Node, sizes: dict[int, int | None]) -> int | None:
    if id(node) in sizes:
        return sizes[id(node)]
    sizes[id(node)] = None  # until it is known: a node that meets itself has no size
    size = 1
    for child in _children(node):
        weight = _weigh(child, sizes)
        if weight is None:
            return None
        size += weight
    sizes[id(node)] = size
    return size


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)
    elif isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield key
            yield value


def _fault(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem or error.context}"
    return "it nests too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
