"""Helpers that read custom resources as nested dicts and lists ("trees") and never raise an error.

Values that are UNKNOWN or malformed are returned unchanged. A policy rule that reads such a value then reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

Tree = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def at(tree: object, *keys: str) -> Any:
    """Returns the value at a path of keys, None if it is absent.

    If a value on the path is not a mapping (UNKNOWN or malformed), returns that value.
    """
    for key in keys:
        if not isinstance(tree, dict):
            return tree
        tree = cast("Tree", tree).get(key)
    return tree


def first(*values: object) -> object:
    """Returns the first of these values that is not None; None if all are."""
    return next((each for each in values if each is not None), None)


def with_item(items: object, item: object) -> object:
    """Returns the list `items` with `item` appended; [item] if `items` is None.

    Any other value is returned unchanged.
    """
    if items is None:
        return [item]
    return [*cast("list[object]", items), item] if isinstance(items, list) else items


def part(tree: object, key: str) -> Tree:
    """Returns a mapping with one field of the tree, `key`; an empty mapping if the tree has no such field."""
    value = at(tree, key)
    return {} if value is None else {key: value}


def pod_of(container: str, image: object, spec: object, fields: Iterable[str]) -> Tree:
    """Returns a pod spec with one container.

    Copies the resources of the container and `fields` of the pod from `spec`.
    """
    own: Tree = {"name": container, "image": image, **part(spec, "resources")}
    pod: Tree = {"containers": [own]}
    for each in fields:
        pod |= part(spec, each)
    return pod


def over(pod: object, more: object) -> object:
    """Returns a pod spec whose fields are overridden by the fields of `more`.

    The field `containers` is not overridden, because an override lists only parts of the containers.
    """
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
