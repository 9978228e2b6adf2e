"""Custom resources as plain trees, read without an error whatever is in them.

A value that is not known yet is UNKNOWN wherever it is put, and a malformed one stays where it is: the rule that needs
it reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

Tree = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def at(tree: object, *keys: str) -> Any:
    """The value below these keys, None where it is absent; UNKNOWN or a malformed value on the way there."""
    for key in keys:
        if not isinstance(tree, dict):
            return tree
        tree = cast("Tree", tree).get(key)
    return tree


def first(*values: object) -> object:
    """The first value that is written."""
    return next((each for each in values if each is not None), None)


def with_item(items: object, item: object) -> object:
    """A list, or nothing, with one more item; any other value stays as it is."""
    if items is None:
        return [item]
    return [*cast("list[object]", items), item] if isinstance(items, list) else items


def part(tree: object, key: str) -> Tree:
    """One field of a mapping, as a mapping of that field alone; empty where it is absent."""
    value = at(tree, key)
    return {} if value is None else {key: value}


def pod_of(container: str, image: object, spec: object, fields: Iterable[str]) -> Tree:
    """A pod of one container that takes these fields of its pod from `spec`."""
    own: Tree = {"name": container, "image": image, **part(spec, "resources")}
    pod: Tree = {"containers": [own]}
    for each in fields:
        pod |= part(spec, each)
    return pod


def over(pod: object, more: object) -> object:
    """A pod with further fields; its containers stay, since overrides name only what differs in them."""
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
