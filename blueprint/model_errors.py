"""Helpers for pydantic's validation errors: return the expected value in words, and the input without invalid parts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

EXPECTED = {
    "int_type": "a whole number without quotes",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "string_type": 'text, in quotes where it looks like a number: "100"',
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "ip_v4_address": "an IPv4 address such as 10.20.0.11",
    "ip_v4_network": "an IPv4 network such as 10.20.0.0/16",
    "date_type": "a date such as 2027-01-31",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "a number below {lt}",
    "less_than_equal": "{le} or less",
    "finite_number": "a finite number",
    "int_parsing_size": "a smaller whole number",
    "json_invalid": "Unicode text and finite numbers, at most 100 levels deep",
    "string_unicode": "Unicode text",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "string_too_short": "at least {min_length} character",
    "string_pattern_mismatch": "text like {pattern}",
    "literal_error": "{expected}",
    "union_tag_invalid": "for {discriminator} one of {expected_tags}",
    "union_tag_not_found": "a mapping with the key {discriminator}",
}
"""The value to write instead, by pydantic's error type. The error's context fills the {placeholders}."""


def expected(error: ErrorDetails) -> str:
    """Returns a description of the value to write instead of the rejected one, such as "a whole number"."""
    return EXPECTED.get(error["type"], error["msg"]).format(**error.get("ctx", {}))


def location(error: ErrorDetails) -> tuple[int | str, ...]:
    """Returns the error's path of keys and indexes, without pydantic's marker for an invalid key of a dictionary."""
    return tuple(part for part in error["loc"] if part != "[key]")


def without_broken(raw: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> dict[str, Any]:
    """Returns a copy of `raw` without the list items or top-level keys that contain one of the errors."""
    rest: dict[str, Any] = copy.deepcopy(dict(raw))
    items: dict[str, set[int]] = {}
    for error in errors:
        loc = location(error)
        if len(loc) > 1 and isinstance(loc[1], int):
            items.setdefault(str(loc[0]), set()).add(loc[1])
        elif loc and error["type"] != "missing":
            rest.pop(str(loc[0]), None)
    for key, broken in items.items():
        if isinstance(rest.get(key), list):
            rest[key] = [item for index, item in enumerate(rest[key]) if index not in broken]
    return rest
