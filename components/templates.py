"""Templates of machines' files: `${node}`, `${server}`, `${rack}` and `${address}` are replaced by a node's values.

files/yaml_writer.py writes placeholders into double-quoted YAML scalars. Characters of a value that could end or
change the scalar are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

_SAFE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def fill(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Returns the templates filled with the values of one node, by path.

    Raises KeyError for a placeholder without a value, and ValueError for a `$` that is neither escaped nor a
    placeholder.
    """
    escaped = {name: escape(value) for name, value in values.items()}
    return {path: Template(text).substitute(escaped) for path, text in templates.items()}


def has_places(template: str) -> bool:
    """Whether the template contains placeholders, so that its text depends on the node."""
    return "$" in template.replace("$$", "")


def escape(value: str) -> str:
    """Escapes a value for a double-quoted YAML scalar."""
    return "".join(char if char in _SAFE else f"\\U{ord(char):08x}" for char in value)
