"""Reads Kubernetes objects in their JSON form. An absent value reads as empty."""

from __future__ import annotations

from typing import Any, cast

Object = dict[str, Any]


def at(item: Object, *keys: str) -> Any:
    """Returns the value below these keys, or None."""
    here: Any = item
    for key in keys:
        if not isinstance(here, dict):
            return None
        here = cast("Object", here).get(key)
    return here


def mapping(item: Object, *keys: str) -> Object:
    """The mapping below these keys."""
    found = at(item, *keys)
    return cast("Object", found) if isinstance(found, dict) else {}


def texts(item: Object, *keys: str) -> dict[str, str]:
    """A mapping of texts, such as labels."""
    return {key: str(value) for key, value in mapping(item, *keys).items()}


def listed(item: Object, *keys: str) -> list[Object]:
    """The mappings in the list below these keys."""
    found = at(item, *keys)
    entries = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Object", each) for each in entries if isinstance(each, dict)]


def words(item: Object, *keys: str) -> tuple[str, ...]:
    """The list of texts below these keys."""
    found = at(item, *keys)
    return tuple(str(each) for each in cast("list[object]", found)) if isinstance(found, list) else ()


def text(item: Object, *keys: str) -> str:
    """The text below these keys."""
    found = at(item, *keys)
    return "" if found is None else str(found)


def number(item: Object, *keys: str, default: int = 0) -> int:
    """The whole number below these keys."""
    found = at(item, *keys)
    return default if found is None else int(found)


def name(item: Object) -> str:
    """The object's name."""
    return str(item["metadata"]["name"])
