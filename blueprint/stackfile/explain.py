"""pydantic's errors in a stack's own words: the key, what is wrong, what to write instead."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from blueprint.problems import Problem
from blueprint.stackfile.reader import NAMESPACE
from blueprint.stackfile.settings import Settings

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "string_type": "text, in quotes",
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
    "too_short": "at least {min_length} of them",
    "string_too_short": "at least {min_length} character",
}
_PATTERNS = {
    r"^20\d\d\.[12]$": 'an OpenStack release such as "2026.1"',
    r"\S": "some text",
    r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$": "a rule's id as docs/rules.md has it, such as galera-size",
    r"^sha256:[0-9a-f]{64}$": "sha256: and 64 hexadecimal digits",
}


def problem(error: ErrorDetails, raw: Mapping[str, Any]) -> Problem:
    """One pydantic error as a Problem. `raw` is the whole of what was read, to name servers as their file does."""
    loc = _plain(error["loc"])
    key = key_of(loc, raw)
    kind = error["type"]
    if kind == "extra_forbidden":
        return Problem(key, _unknown(str(loc[-1]), _fields_at(loc[:-1])))
    if kind == "missing":
        return Problem(key, "is missing; write it" + _described(loc))
    if kind == "literal_error":
        return Problem(key, _not_among(error))
    return Problem(key, f"{_shown(error['input'])} does not fit; write {_expected(error)}")


def without_broken(raw: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> dict[str, Any]:
    """`raw` less what the errors point at: the list item or the key they lie in."""
    rest: dict[str, Any] = copy.deepcopy(dict(raw))
    items: dict[str, set[int]] = {}
    for error in errors:
        loc = _plain(error["loc"])
        if len(loc) > 1 and isinstance(loc[1], int):
            items.setdefault(str(loc[0]), set()).add(loc[1])
        elif loc and error["type"] != "missing":
            rest.pop(str(loc[0]), None)
    for key, broken in items.items():
        if isinstance(rest.get(key), list):
            rest[key] = [item for index, item in enumerate(rest[key]) if index not in broken]
    return rest


def key_of(loc: Sequence[int | str], raw: Mapping[str, Any]) -> str:
    """`quorate:servers[2].vms[0].ram (kvm1)`: the path as written, and the name of the server it is about."""
    text = f"{NAMESPACE}:"
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (part if text.endswith(":") else f".{part}")
    name = _name_of(loc, raw)
    return f"{text} ({name})" if name else text


def did_you_mean(word: str, choices: Sequence[str]) -> str:
    """' (did you mean …?)' where one of the choices is close, else nothing."""
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _plain(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    # A dictionary's wrong key is marked so; the marker is pydantic's, not the file's.
    return tuple(part for part in loc if part != "[key]")


def _name_of(loc: Sequence[int | str], raw: Mapping[str, Any]) -> str | None:
    if len(loc) < 2 or loc[0] != "servers" or not isinstance(loc[1], int):
        return None
    servers = raw.get("servers")
    if not isinstance(servers, list) or loc[1] >= len(cast("list[Any]", servers)):
        return None
    entry = cast("list[Any]", servers)[loc[1]]
    name = cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _unknown(key: str, fields: Sequence[str]) -> str:
    return f"unknown key{did_you_mean(key, fields)}; write one of: {', '.join(fields)}"


def _not_among(error: ErrorDetails) -> str:
    expected = str(error.get("ctx", {}).get("expected", ""))
    choices = [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]
    given = error["input"]
    return f"{_shown(given)} is not known{did_you_mean(str(given), choices)}; write one of: {', '.join(choices)}"


def _expected(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(str(context.get("pattern")), f"text like {context.get('pattern')}")
    return _EXPECTED.get(error["type"], error["msg"]).format(**context)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= 60 else f"'{value[:57]}…'"
    if value is None or isinstance(value, bool | int | float):
        return "nothing" if value is None else str(value).lower()
    return "a list" if isinstance(value, list) else "a mapping"


def _described(loc: Sequence[int | str]) -> str:
    model = _model_at(loc[:-1])
    for field in model.model_fields.values() if model else ():
        if field.alias == loc[-1] and field.description:
            return f" ({field.description})"
    return ""


def _fields_at(loc: Sequence[int | str]) -> list[str]:
    model = _model_at(loc)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _model_at(loc: Sequence[int | str]) -> type[BaseModel] | None:
    here: object = Settings
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            fields = {field.alias or name: field for name, field in here.model_fields.items()}
            here = fields[str(part)].annotation if part in fields else None
        elif get_origin(here) in (tuple, dict):
            arguments = get_args(here)
            here = arguments[0] if get_origin(here) is tuple else arguments[1]
        else:
            return None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None
