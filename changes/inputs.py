"""Reads the resources of a stack from the events of a Pulumi preview.

A preview renders no files, but its events contain every resource, also hand-written ones, with its inputs after the
provider's check. Two updates to compare rendered files would take three times as long. In this module, secret values
are replaced by `[secret]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from policy.engine.decode import UNKNOWN_MARKS
from policy.engine.events import parse
from policy.properties import UNKNOWN
from policy.resource import Resource

SECRET = "[secret]"  # noqa: S105 - what stands in place of one
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SEALED = "1b47061264138c4ac30d75fd1eb44270"


def resources(events: Iterable[str]) -> list[Resource]:
    """Returns the resources that the stack will have after the previewed update, sorted by URN.

    `events`: the lines of the preview's event log.
    """
    found: dict[str, Resource] = {}
    for line in events:
        event = parse(line)
        step = event.step if event else None
        if step and not step.removes:
            found[step.urn] = _resource(step.state)
    return [found[urn] for urn in sorted(found)]


def _resource(state: dict[str, Any]) -> Resource:
    inputs = cast("dict[str, Any]", _value(state.get("inputs") or {}))
    urn = str(state["urn"])
    return Resource(state["type"], urn, urn.rpartition("::")[2], lambda: inputs)


def _value(value: object) -> object:
    if isinstance(value, dict):
        tree = cast("dict[str, object]", value)
        if tree.get(_SIGNATURE) == _SEALED:
            return SECRET
        return {key: _value(item) for key, item in tree.items()}
    if isinstance(value, list):
        return [_value(item) for item in cast("list[object]", value)]
    return UNKNOWN if isinstance(value, str) and value in UNKNOWN_MARKS else value
