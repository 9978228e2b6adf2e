"""YAML documents of machines' files: stable order, and places that a node's own values fill later (templates.py).

A place is written in double quotes, whatever value it takes: a rack named 1 stays text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import yaml


class Place(str):
    """Text with `${...}` in it, which is filled for each node."""

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
    """Returns documents as one template: a plain `$` in their texts is doubled, places stay."""
    return yaml.dump_all((_escaped(document) for document in documents), Dumper=_Dumper, sort_keys=False, width=1000)


def literal(text: str) -> str:
    """Returns text without places as a template."""
    return text.replace("$", "$$")


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return value if isinstance(value, Place) else literal(value)
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in cast("Sequence[object]", value)]
    return value
