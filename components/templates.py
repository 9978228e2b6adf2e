"""Templates of machines' files: `${node}`, `${server}`, `${rack}` and `${address}` stand for a node's own values.

A value comes in as data, never as text of the file's own format: a place stands between the double quotes of a YAML
scalar (documents.py writes it so), and whatever the value has that could end or change the scalar is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

_SAFE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def fill(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts for one node. Raises KeyError for a place without a value, ValueError for a lone `$`."""
    escaped = {name: escape(value) for name, value in values.items()}
    return {path: Template(text).substitute(escaped) for path, text in templates.items()}


def has_places(template: str) -> bool:
    """Whether the template gives other texts for other nodes."""
    return "$" in template.replace("$$", "")


def escape(value: str) -> str:
    """Returns a value as it is written between the double quotes of a YAML scalar."""
    return "".join(char if char in _SAFE else f"\\U{ord(char):08x}" for char in value)
