"""A CCP configuration file as one mapping: its YAML documents and its `!include` files merged, later over earlier.

Source: 004, 2.1.4, whose files begin with `!include` and a list, then `---` and sections of their own. An include
may name one file as well, and may stand as the value of a key. Paths are relative to the file that includes. Everything
that is wrong becomes a finding and reading continues, so that one run reports all of it. sections.py interprets the
sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from blueprint.topology.shapes import Finding
from files import yaml_reader

Section = dict[object, object]
"""A mapping as YAML gives it: keys are text by custom only."""

_INCLUDE = "!include"
_STANDARD = "tag:yaml.org,2002:"
_PLAIN = {
    f"{_STANDARD}{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "set", "omap", "pairs", "binary", "timestamp")
} | {f"{_STANDARD}merge", f"{_STANDARD}value", _INCLUDE}
_PLACING = ("nodes", "roles", "replicas", "services")


@dataclass(frozen=True)
class _Include:
    files: tuple[str, ...]


def _include(_loader: object, node: yaml.Node) -> _Include:
    items = cast("list[yaml.ScalarNode]", node.value) if isinstance(node, yaml.SequenceNode) else [node]
    return _Include(tuple(str(item.value) for item in items))


def _loader(base: Any) -> Any:
    """The loader with `!include` beside YAML's own tags, and nothing else: a topology is data."""
    loader: Any = type("TopologyLoader", (base,), {})
    loader.add_constructor(_INCLUDE, _include)
    return loader


_LOADERS = (_loader(yaml_reader.LOADERS[0]), _loader(yaml_reader.LOADERS[1]))


def as_section(value: object) -> Section | None:
    """The value, if it is a mapping."""
    return cast("Section", value) if isinstance(value, dict) else None


def kind(value: object) -> str:
    """What a value is, in the words of a reader of YAML."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else f"the single value {value!r}"


def merged(base: Mapping[object, object], layer: Mapping[object, object]) -> Section:
    """`layer` over `base`: mappings merge key by key, all else is replaced, an empty section takes nothing away."""
    result = dict(base)
    for key, value in layer.items():
        below, above = as_section(result.get(key)), as_section(value)
        if below is not None and above is not None:
            result[key] = merged(below, above)
        elif below is None or value is not None:
            result[key] = value
    return result


def read_document(path: Path) -> tuple[Section, list[Finding]]:
    """The whole file with its includes, and what is wrong with it."""
    reader = _Reader()
    return reader.read(path, ()), reader.findings


@dataclass
class _Reader:
    findings: list[Finding] = field(default_factory=list[Finding])
    done: dict[Path, Section] = field(default_factory=dict[Path, Section])

    def read(self, path: Path, including: tuple[Path, ...], at: str = "") -> Section:
        """One file and what it includes. `including` is the way here, `at` where the file is named."""
        resolved = path.resolve()
        if resolved in including:
            way = " -> ".join(file.name for file in (*including[including.index(resolved) :], resolved))
            self._error("include-cycle", at, f"includes itself: {way}; take one of these !include lines out")
            return {}
        if resolved not in self.done:
            whole: Section = {}
            for document in self._documents(path, at):
                value = self._with_includes(document, path, (*including, resolved))
                layer = {} if value is None else as_section(value)
                if layer is None:
                    advice = "write sections such as nodes: and roles:"
                    self._error("not-a-mapping", str(path), f"holds {kind(value)}; {advice}")
                else:
                    whole = merged(whole, layer)
            self.done[resolved] = whole
        return self.done[resolved]

    def _documents(self, path: Path, at: str) -> Iterator[object]:
        try:
            content = path.read_text(encoding="utf-8")
        except OSError as error:
            rule = "include-absent" if at else "file-absent"
            what = f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
            advice = "write a path relative to the file that includes it" if at else "give the path of a topology file"
            self._error(rule, at or str(path), f"{what}; {advice}")
            return
        except UnicodeDecodeError:
            self._error("not-yaml", str(path), "is not YAML: it is not UTF-8 text; fix it there")
            return
        try:
            for document in yaml_reader.parse(content, _LOADERS):
                if document.node is not None and self._is_sound(document, path):
                    yield document.value
        except yaml_reader.YamlError as error:
            self._error("not-yaml", str(path), f"is not valid YAML: {error}; fix it there")

    def _with_includes(self, value: object, path: Path, including: tuple[Path, ...]) -> object:
        """The value with the content of included files in the place of each `!include`."""
        if isinstance(value, _Include):
            whole: Section = {}
            for name in value.files:
                whole = merged(whole, self.read(path.parent / name, including, f"{path}: !include {name}"))
            return whole
        section = as_section(value)
        if section is None:
            return value
        return {key: self._with_includes(child, path, including) for key, child in section.items()}

    def _is_sound(self, document: yaml_reader.Document, path: Path) -> bool:
        """Whether a document may be turned into values: known tags only, no endless aliases. Notes what is not."""
        walk = _Walk(path)
        size = document.size
        if size is None:
            self._error("alias-bomb", str(path), "contains itself through an alias; write it out")
        elif size > yaml_reader.LARGEST:
            self._error("alias-bomb", str(path), f"stands for {size} values with its aliases; write them out")
        if document.node is not None:
            walk.visit(document.node, "")
        for entry in document.twins:
            walk.add_twin(entry)
        self.findings.extend(walk.warnings)
        for error in walk.errors:
            self._error(*error)
        return not walk.unsound and size is not None and size <= yaml_reader.LARGEST

    def _error(self, rule: str, key: str, message: str) -> None:
        self.findings.append(Finding(rule, "error", key, message))


@dataclass
class _Walk:
    """One pass over a document's nodes, before any value is made of them."""

    path: Path
    errors: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    warnings: list[Finding] = field(default_factory=list[Finding])
    unsound: bool = False
    seen: set[int] = field(default_factory=set[int])

    def visit(self, node: yaml.Node, key: str, listed: bool = False) -> None:
        """Checks the tags of a node and of all below it. `key` is where it was met first."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        self._check_tag(node, key, listed)
        if isinstance(node, yaml.SequenceNode):
            for child in cast("list[yaml.Node]", node.value):
                self.visit(child, key, listed=True)
        elif isinstance(node, yaml.MappingNode):
            for name, child in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                self.visit(name, key)
                self.visit(child, f"{key}.{name.value}" if key else str(name.value))

    def add_twin(self, entry: yaml_reader.Entry) -> None:
        """Notes a key that is written twice: an error where it decides placement, else a warning."""
        place = f"{self.path}, again at line {entry.line}"
        message = f"stands twice ({place}) and only the last one is read; write it once"
        if entry.path.partition(".")[0] in _PLACING:
            self.errors.append(("duplicate-key", entry.path, message))
        else:
            self.warnings.append(Finding("duplicate-key", "warning", entry.path, message))

    def _check_tag(self, node: yaml.Node, key: str, listed: bool) -> None:
        tag = str(node.tag)
        if tag not in _PLAIN:
            name = tag.replace(_STANDARD, "!!")
            self._unsound("unsafe-tag", key, f"has the tag {name}; only !include is known: write plain values", node)
        elif tag == _INCLUDE:
            children = cast("list[yaml.Node]", node.value) if isinstance(node, yaml.SequenceNode) else [node]
            if not children or not all(isinstance(child, yaml.ScalarNode) and child.value for child in children):
                self._unsound("include-malformed", key, "!include takes a file name or a list of file names", node)
            elif listed:
                advice = "write it as a document of its own, or as the value of a key"
                self._unsound("include-malformed", key, f"has !include inside a list; {advice}", node)

    def _unsound(self, rule: str, key: str, message: str, node: yaml.Node) -> None:
        self.unsound = True
        self.errors.append((rule, key or str(self.path), f"{message} ({self.path}, line {node.start_mark.line + 1})"))
