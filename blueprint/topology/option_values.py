"""Converts values of Fuel-CCP's configuration keys to values of OpenStack's options."""

from __future__ import annotations

from math import isfinite
from typing import cast

from blueprint.problems import shown
from blueprint.topology.config_fates import OptionFate

_EXPECTED = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "text": "text",
    "list": "a list of names",
}
"""What to write, by kind of value."""


class OptionValueError(Exception):
    """Raised for a value that the option cannot have. The message is the error and the text to write instead."""


def option_value(option: OptionFate, value: object) -> tuple[object, tuple[str, ...]]:
    """Returns the option's value, and the items of a list that are left out.

    Raises OptionValueError for a value of another kind.
    """
    if option.kind == "list":
        return _items(option, value)
    if not _is_of_kind(option, value):
        raise OptionValueError(f"is {shown(value)}; write {_EXPECTED[option.kind]}")
    return value, ()


def _is_of_kind(option: OptionFate, value: object) -> bool:
    if isinstance(value, bool):
        return option.kind == "boolean"
    return {
        "integer": isinstance(value, int),
        "number": isinstance(value, int | float) and isfinite(value),
        "text": isinstance(value, str) and bool(value),
    }.get(option.kind, False)


def _items(option: OptionFate, value: object) -> tuple[list[str], tuple[str, ...]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    names = [item for item in items if isinstance(item, str) and item]
    if not names or len(names) < len(items):
        raise OptionValueError(f"is {shown(cast('object', value))}; write {_EXPECTED['list']}, at least one")
    dropped = tuple(name for name in names if name in option.without)
    return [name for name in names if name not in option.without], dropped
