"""Reads a configuration file of Fuel-CCP as one mapping: merges its YAML documents and its `!include` files.

In source document 004, 2.1.4, files begin with `!include` and a list of files, then `---` and their own sections. An
include may also name a single file, and may be the value of a key. Later values take precedence over earlier ones.
Paths are relative to the including file. Each error becomes a finding and reading continues, so that one run reports
all errors. sections.py interprets the sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from blueprint.topology.shapes import TopologyFinding
from files import text_file, yaml_reader, yaml_traps

Section = dict[object, object]
"""A mapping that was read from YAML. Its keys are usually texts, but YAML also allows other keys."""

_INCLUDE = "!include"
_STANDARD = yaml_reader.STANDARD
_PLAIN = {
    f"{_STANDARD}{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "set", "omap", "pairs", "binary", "timestamp")
} | {f"{_STANDARD}merge", f"{_STANDARD}value", _INCLUDE}
LARGEST = 10_000
"""Maximum number of values of a topology with its includes. Fuel-CCP's own examples have at most 300."""
_DEEPEST = 8
"""Maximum number of files in one chain of includes."""
_PLACING = ("nodes", "roles", "replicas", "services")


@dataclass(frozen=True)
class _Include:
    files: tuple[str, ...]


def _include(_loader: object, node: yaml.Node) -> _Include:
    items = cast("list[yaml.ScalarNode]", node.value) if isinstance(node, yaml.SequenceNode) else [node]
    return _Include(tuple(str(item.value) for item in items))


_LOADER: Any = type("TopologyLoader", (yaml_reader.LOADER,), {})
"""The YAML loader of topologies. Accepts `!include` and YAML's standard tags only, so that no tag runs code."""
_LOADER.add_constructor(_INCLUDE, _include)


def as_section(value: object) -> Section | None:
    """Returns a value from YAML if it is a mapping, otherwise None."""
    return cast("Section", value) if isinstance(value, dict) else None


def merged(base: Mapping[object, object], layer: Mapping[object, object]) -> Section:
    """Returns `base` with the values of `layer`, which take precedence. Mappings are merged key by key.

    A key without a value in `layer` does not replace a mapping in `base`.
    """
    result = dict(base)
    for key, value in layer.items():
        below, above = as_section(result.get(key)), as_section(value)
        if below is not None and above is not None:
            result[key] = merged(below, above)
        elif below is None or value is not None:
            result[key] = value
    return result


def read_document(path: Path) -> tuple[Section, list[TopologyFinding]]:
    """Returns the contents of a configuration file merged with its includes, and the findings.

    Included files must be below the project's directory, or below the file's own directory if that is elsewhere.
    """
    project = Path.cwd().resolve()
    try:
        top = path.resolve().parent
    except (OSError, RuntimeError):  # a loop of symbolic links, which reading the file reports
        top = path.absolute().parent
    reader = _Reader(project if top.is_relative_to(project) else top)
    try:
        return reader.read(path, ()), reader.findings
    except RecursionError:
        message = "nests too deeply with its includes; write it flatter"
        return {}, [*reader.findings, TopologyFinding("alias-bomb", "error", str(path), message)]


@dataclass
class _Reader:
    root: Path
    """Included files must be below this directory."""
    findings: list[TopologyFinding] = field(default_factory=list[TopologyFinding])
    done: dict[Path, Section] = field(default_factory=dict[Path, Section])
    sizes: dict[Path, int] = field(default_factory=dict[Path, int])
    size: int = 0
    """Number of values read so far; a file that is included twice counts twice."""

    def read(self, path: Path, including: tuple[Path, ...], at: str = "") -> Section:
        """Returns the contents of a file merged with its includes; {} if it cannot be read, with a finding.

        `including`: the chain of files that include this one. `at`: the place of the !include, for messages.
        """
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of symbolic links, or a null character
            resolved = path
        if at and not resolved.is_relative_to(self.root):
            self._error("include-outside", at, "leads out of the project; write the path of a file inside the project")
            return {}
        if len(including) >= _DEEPEST:
            self._error("include-cycle", at, f"is included through {_DEEPEST} files; write fewer levels of !include")
            return {}
        if resolved in including:
            way = " -> ".join(file.name for file in (*including[including.index(resolved) :], resolved))
            self._error("include-cycle", at, f"includes itself: {way}; remove one of these !include lines")
            return {}
        if resolved in self.done:
            self.size += self.sizes[resolved]
        else:
            before = self.size
            whole: Section = {}
            for document in self._documents(path, at):
                value = self._with_includes(document, path, (*including, resolved))
                layer = {} if value is None else as_section(value)
                if layer is None:
                    advice = "write sections such as nodes: and roles:"
                    what = "a list" if isinstance(value, list) else "a single value"
                    self._error("not-a-mapping", str(path), f"holds {what}; {advice}")
                else:
                    whole = merged(whole, layer)
            self.done[resolved] = whole
            self.sizes[resolved] = self.size - before
        if self.size > LARGEST:
            if not any(finding.rule == "alias-bomb" for finding in self.findings):
                self._error("alias-bomb", str(path), f"has more than {LARGEST} values with its includes; write fewer")
            return {}
        return self.done[resolved]

    def _documents(self, path: Path, at: str) -> Iterator[object]:
        try:
            content = text_file.read(path)
        except text_file.NotTextError as error:
            self._error("not-yaml", str(path), f"cannot be read: {error}")
            return
        except text_file.UnreadableError as error:
            rule = "include-absent" if at else "file-absent"
            advice = "write a path relative to the file that includes it" if at else "give the path of a topology file"
            self._error(rule, at or str(path), f"{f'{path} ' * bool(at)}cannot be read: {error}; {advice}")
            return
        if hidden := next(yaml_traps.hidden_characters(content), None):
            self._error("not-yaml", str(path), hidden)
            return
        try:
            for document in yaml_reader.parse(content, _LOADER):
                if document.node is not None and self._is_sound(document, path):
                    yield document.value
        except yaml_reader.YamlError as error:
            self._error("not-yaml", str(path), f"is not valid YAML: {error}")

    def _with_includes(self, value: object, path: Path, including: tuple[Path, ...]) -> object:
        """Returns a value from YAML with each `!include` in it replaced by the contents of the included files."""
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
        """Whether a YAML document has only known tags and not too many values with aliases expanded.

        Adds a finding for each error. Values are constructed only from such documents.
        """
        walk = _Walk(path)
        size = document.size
        if size is None:
            self._error("alias-bomb", str(path), "contains itself through an alias; write it out")
        elif size > LARGEST:
            self._error("alias-bomb", str(path), f"stands for {size} values with its aliases; write at most {LARGEST}")
        if document.node is not None:
            walk.visit(document.node, "")
        for entry in document.twins:
            walk.add_twin(entry)
        self.findings.extend(walk.warnings)
        for error in walk.errors:
            self._error(*error)
        if size is None or size > LARGEST:
            return False
        self.size += size
        return not walk.unsound

    def _error(self, rule: str, key: str, message: str) -> None:
        self.findings.append(TopologyFinding(rule, "error", key, message))


@dataclass
class _Walk:
    """Checks the YAML nodes of a document once, before values are constructed from the nodes."""

    path: Path
    errors: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    warnings: list[TopologyFinding] = field(default_factory=list[TopologyFinding])
    unsound: bool = False
    seen: set[int] = field(default_factory=set[int])

    def visit(self, node: yaml.Node, key: str, listed: bool = False) -> None:
        """Checks the tags of a YAML node and of all nodes below it.

        `key`: the path of the node, for messages. `listed`: the node is an item of a list.
        """
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        self._check_tag(node, key, listed)
        if isinstance(node, yaml.SequenceNode):
            for child in cast("list[yaml.Node]", node.value):
                self.visit(child, key, listed=True)
        elif isinstance(node, yaml.MappingNode):
            for name, child in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                if key == "replicas" and (wrong := yaml_traps.ambiguous(child)):
                    self.errors.append(("bad-replicas", f"{key}.{name.value}", wrong))
                self.visit(name, key)
                self.visit(child, f"{key}.{name.value}" if key else str(name.value))

    def add_twin(self, entry: yaml_reader.YamlEntry) -> None:
        """Reports a duplicate key: an error if the key affects placement, else a warning."""
        place = f"{self.path}, again at line {entry.line}"
        message = f"is written twice ({place}), and only the last one is read; write it once"
        if entry.path.partition(".")[0] in _PLACING:
            self.errors.append(("duplicate-key", entry.path, message))
        else:
            self.warnings.append(TopologyFinding("duplicate-key", "warning", entry.path, message))

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
