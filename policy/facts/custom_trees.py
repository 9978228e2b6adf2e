"""Helpers that read custom resources as plain trees and never raise an error.

UNKNOWN and malformed values are passed through, so that the rule that reads such a value reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

Tree = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def at(tree: object, *keys: str) -> Any:
    """The value below these keys; None if absent. Returns an UNKNOWN or malformed value on the path itself."""
    for key in keys:
        if not isinstance(tree, dict):
            return tree
        tree = cast("Tree", tree).get(key)
    return tree


def first(*values: object) -> object:
    """The first value that is not None."""
    return next((each for each in values if each is not None), None)


def with_item(items: object, item: object) -> object:
    """Appends an item to a list or to None. Returns any other value unchanged."""
    if items is None:
        return [item]
    return [*cast("list[object]", items), item] if isinstance(items, list) else items


def part(tree: object, key: str) -> Tree:
    """A mapping with only this field of the tree; empty if the field is absent."""
    value = at(tree, key)
    return {} if value is None else {key: value}


def pod_of(container: str, image: object, spec: object, fields: Iterable[str]) -> Tree:
    """A pod spec with one container, and with these fields copied from `spec`."""
    own: Tree = {"name": container, "image": image, **part(spec, "resources")}
    pod: Tree = {"containers": [own]}
    for each in fields:
        pod |= part(spec, each)
    return pod


def over(pod: object, more: object) -> object:
    """A pod spec overridden with the fields of `more`, except containers, which overrides list only partially."""
    if more is None or not isinstance(pod, dict):
        return pod
    if not isinstance(more, dict):
        return more
    written = {key: value for key, value in cast("Tree", more).items() if key != "containers" and value is not None}
    return {**cast("Tree", pod), **written}


def apart(topology: object, labels: Tree) -> Tree:
    return {"podAntiAffinity": {REQUIRED: [term(topology, labels)]}}


def term(topology: object, labels: Tree) -> Tree:
    return {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
