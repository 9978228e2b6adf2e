"""Reads values of Kubernetes objects in their JSON form. A value that is absent reads as empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

Object = dict[str, Any]


def at(item: Object, *keys: str) -> Any:
    """Returns the value at a path of keys, or None if the path does not exist."""
    here: Any = item
    for key in keys:
        if not isinstance(here, dict):
            return None
        here = cast("Object", here).get(key)
    return here


def mapping(item: Object, *keys: str) -> Object:
    """Returns the mapping at a path of keys; {} if there is none."""
    found = at(item, *keys)
    return cast("Object", found) if isinstance(found, dict) else {}


def texts(item: Object, *keys: str) -> dict[str, str]:
    """Returns the mapping of strings at a path of keys, such as labels; {} if there is none."""
    return {key: str(value) for key, value in mapping(item, *keys).items()}


def listed(item: Object, *keys: str) -> list[Object]:
    """Returns the mappings in the list at a path of keys; [] if there is no list."""
    found = at(item, *keys)
    entries = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Object", each) for each in entries if isinstance(each, dict)]


def words(item: Object, *keys: str) -> tuple[str, ...]:
    """Returns the list of strings at a path of keys; () if there is no list."""
    found = at(item, *keys)
    return tuple(str(each) for each in cast("list[object]", found)) if isinstance(found, list) else ()


def text(item: Object, *keys: str) -> str:
    """Returns the value at a path of keys as a string; "" if there is none."""
    found = at(item, *keys)
    return "" if found is None else str(found)


def number(item: Object, *keys: str, default: int = 0) -> int:
    """Returns the integer at a path of keys; `default` if there is none."""
    found = at(item, *keys)
    return default if found is None else int(found)


def holds(item: Object, condition: str) -> bool:
    """Whether the status of one of the object's conditions, such as Ready, is True."""
    conditions = listed(item, "status", "conditions")
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


def has_ended(pod: Object) -> bool:
    """Whether a pod has finished, as those of completed and failed Jobs have."""
    return at(pod, "status", "phase") in ("Succeeded", "Failed")


def newest(items: Iterable[Object]) -> Object:
    """Returns the object that was created last. Raises ValueError if there is none."""
    return max(items, key=lambda item: text(item, "metadata", "creationTimestamp"))


def name(item: Object) -> str:
    """Returns the name of a Kubernetes object."""
    return str(item["metadata"]["name"])
