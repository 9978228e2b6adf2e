"""YAML documents for files of machines, with placeholders for values that differ between nodes (templates.py).

Keys keep their order. A placeholder is written in double quotes, so that a rack named 1 stays text in YAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import yaml


class Place(str):
    """Text with `${...}` placeholders, each of which is replaced by a value of the node."""

    __slots__ = ()


NODE, SERVER, RACK, ADDRESS = Place("${node}"), Place("${server}"), Place("${rack}"), Place("${address}")


class _Dumper(yaml.CSafeDumper):
    """YAML dumper that quotes placeholders and writes no aliases. libyaml is ten times as fast as the Python dumper."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _place(_dumper: object, text: Place) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(Place, _place)


def template(*documents: Mapping[str, Any]) -> str:
    """Returns YAML documents as one template: `$` in plain text is escaped as `$$`, placeholders are kept."""
    return yaml.dump_all((_escaped(document) for document in documents), Dumper=_Dumper, sort_keys=False, width=1000)


def plain_document(content: Mapping[str, Any]) -> str:
    """Returns content without placeholders as a YAML document, with keys in the order of `content`."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=1000)


def literal(text: str) -> str:
    """Returns a template (templates.py) that yields `text` unchanged: `$` is escaped as `$$`."""
    return text.replace("$", "$$")


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return value if isinstance(value, Place) else literal(value)
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in cast("Sequence[object]", value)]
    return value
