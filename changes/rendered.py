"""Writes the difference of the files that two previews would render, as a unified patch.

The patch has the files of the target `render`: Kubernetes objects as YAML below manifests/, a machine's files below
machines/. A pool of identical workers has one folder with templates. resource.yaml in a machine's folder has the
properties of its resource. Secrets are omitted, even if a value differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import yaml

from changes.side import machine_texts, pool_nodes, trees_by_machine
from contract import TREE
from policy.facts.kubernetes.node import is_machine
from policy.facts.kubernetes.workload import kubernetes_kind
from policy.properties import UNKNOWN
from policy.resource import Resource

Files = dict[str, object]
"""Contents of rendered files by path: text, or data that the patch shows as YAML."""

_HIDDEN = ("pulumi:pulumi:", "pulumi:providers:", "quorate:")


def patch(before: Iterable[Resource], after: Iterable[Resource]) -> str:
    """Returns a unified diff of the files that two previews would render, sorted by path; "" if all are equal."""
    old, new = files(before), files(after)
    differing = (path for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path))
    return "".join(line for path in differing for line in _difference(path, old.get(path), new.get(path)))


def files(resources: Iterable[Resource]) -> Files:
    """Returns the files that are rendered from resources, and the properties of other resources, by path."""
    by_urn = {each.urn: each for each in resources}
    trees = trees_by_machine(by_urn)
    found: Files = {}
    for resource in by_urn.values():
        kind = kubernetes_kind(resource)
        if is_machine(resource):
            tree = trees.get(resource.urn)
            found |= _machine(resource.plain(), by_urn[tree].plain() if tree else {})
            continue
        if resource.type.startswith(_HIDDEN) or resource.type == TREE or kind == "Secret":
            continue
        plain = resource.plain()
        if kind:
            found[f"manifests/{_object_path(kind, resource, plain)}"] = plain
        else:
            known = {key: value for key, value in plain.items() if not key.startswith("__")}
            found[f"resources/{resource.type.replace(':', '/')}/{resource.name}.yaml"] = known
    return found


def _object_path(kind: str, resource: Resource, plain: Mapping[str, Any]) -> str:
    given: object = plain.get("metadata")
    metadata = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    folder = str(metadata.get("namespace") or "cluster")
    return f"{folder}/{kind.lower()}-{metadata.get('name', resource.name)}.yaml"


def _machine(plain: Mapping[str, Any], tree: Mapping[str, Any]) -> Files:
    nodes = list(pool_nodes(plain).values())
    # A pool's folder is named after its first node, because the resource's name contains the size, which may change.
    folder = f"machines/{nodes[0]['node']} and the rest of its pool" if nodes else f"machines/{plain['node']}"
    found: Files = {f"{folder}/{path}": text for path, text in machine_texts(plain, tree).items()}
    facts = {key: value for key, value in plain.items() if key not in ("files", "steps", "definition", "nodes")}
    facts |= {"nodes": nodes} if nodes else {}
    return {**found, f"{folder}/resource.yaml": facts}


def _difference(path: str, old: object, new: object) -> Iterator[str]:
    names = ("/dev/null" if old is None else f"base/{path}", "/dev/null" if new is None else f"head/{path}")
    for line in difflib.unified_diff(_lines(old), _lines(new), *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: object) -> list[str]:
    if content is None:
        return []
    text = (
        content if isinstance(content, str) else yaml.safe_dump(_writable(content), sort_keys=True, allow_unicode=True)
    )
    return text.splitlines(keepends=True)


def _writable(value: object) -> object:
    if value is UNKNOWN:
        return "(known after the update)"
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_writable(item) for item in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
