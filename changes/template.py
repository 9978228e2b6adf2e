"""Names the parts in which two pod templates differ.

Quotes no values except images, because a value may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from contract import CONFIG
from formats import image_reference

_PLACEMENT = frozenset({"affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"})
_LISTS = ("containers", "initContainers")


def parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Returns the names of the parts in which two pod templates differ, such as "image a to b", each once."""
    found = [*_metadata(_at(old, "metadata"), _at(new, "metadata")), *_pod(_at(old, "spec"), _at(new, "spec"))]
    return list(dict.fromkeys(found)) or ["its template"]


def alike(those: Iterable[str]) -> list[str]:
    """Returns the parts without the names of images, each once: equal for workloads whose images get the same tag."""
    return list(dict.fromkeys(_without_name(each) for each in those))


def _without_name(part: str) -> str:
    words = part.split(" ")
    if len(words) != 4 or words[0] != "image":
        return part
    old, new = image_reference.parse(words[1]), image_reference.parse(words[3])
    if old.repository != new.repository:
        return part
    return f"images from {old.version} to {new.version}" if old.tag and new.tag else "images with other digests"


def _metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    annotations = _differing(_at(old, "annotations"), _at(new, "annotations"))
    if CONFIG in annotations:
        yield "its configuration"
    for what, keys in (
        ("annotation", [key for key in annotations if key != CONFIG]),
        ("label", _differing(_at(old, "labels"), _at(new, "labels"))),
    ):
        yield from (f"{what} {key}" for key in keys)


def _pod(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in _differing(old, new):
        if key in _PLACEMENT:
            yield f"placement ({key})"
        elif key in _LISTS:
            yield from _containers(old.get(key), new.get(key))
        else:
            yield key


def _containers(old: object, new: object) -> Iterator[str]:
    before, after = _named(old), _named(new)
    for name in sorted(before.keys() | after.keys()):
        if name not in after or name not in before:
            yield f"{'new' if name in after else 'removed'} container {name}"
            continue
        for key in _differing(before[name], after[name]):
            if key == "image":
                yield f"image {before[name].get(key)} to {after[name].get(key)}"
            else:
                yield f"{key} of container {name}"
    if before == after:
        yield "order of its containers"


def _named(containers: object) -> dict[str, Mapping[str, Any]]:
    listed = cast("list[Mapping[str, Any]]", containers) if isinstance(containers, list) else []
    return {str(each.get("name", number)): each for number, each in enumerate(listed)}


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def _at(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tree.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
