"""YAML documents of machines' files: stable order, and places where a node's own values come in later.

A pool's files are templates (`string.Template`) of its nodes' names, addresses, servers and racks. Such a place is
written in quotes, whatever value it takes: a rack named 1 stays text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any, cast

import yaml


class Place(str):
    """Text with `${...}` in it, to be filled for each node."""

    __slots__ = ()


NODE, SERVER, RACK, ADDRESS = Place("${node}"), Place("${server}"), Place("${rack}"), Place("${address}")


class _Dumper(yaml.CSafeDumper):
    """Quotes places, and writes repeated values in full, not as aliases. libyaml is ten times as fast as Python."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _place(_dumper: object, text: Place) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(Place, _place)


def template(*documents: Mapping[str, Any]) -> str:
    """Documents as one template: a plain `$` in their texts is doubled, places stay."""
    return yaml.dump_all((_escaped(document) for document in documents), Dumper=_Dumper, sort_keys=False, width=1000)


def fill(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """The files of one node. Raises KeyError for a place that nothing fills."""
    return {path: Template(text).substitute(values) for path, text in templates.items()}


def literal(text: str) -> str:
    """Text that holds no place, as a template."""
    return text.replace("$", "$$")


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return value if isinstance(value, Place) else literal(value)
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in cast("Sequence[object]", value)]
    return value
