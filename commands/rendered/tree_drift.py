"""Finds files of a rendered tree that are missing or changed since the last completed `up`, and marks their resources.

The engine writes a file only if its resource differs from the state. Therefore the resources of drifted files get a
mark in an exported state, which is imported again. The next `up` shows the mark as a difference, removes the mark, and
writes the file. Nothing is replaced or deleted. Marks that an interrupted `up` has not removed take effect in the next
`up`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal, cast

from commands.rendered.tree_index import Index
from contract import TREE

MARK = "quorate.io/rendered-file"
"""Annotation that marks a Kubernetes object with a drifted file, in the state only; manifests never contain it."""

TREE_MARK = "drifted"
"""Mark of a machine tree with a drifted file: the value of its output `written`, as after a refresh
(components/tree.py)."""

SHOWN = 10

Resource = dict[str, Any]
State = Literal["missing", "changed"]


@dataclass(frozen=True)
class Drift:
    """Files that are missing or changed since the last `up`, by path relative to the stack's build directory."""

    files: Mapping[str, State]

    def report(self, directory: str) -> str:
        """Returns the drifted files below `directory` as lines of text, missing files first, at most SHOWN of them."""
        ordered = sorted(self.files.items(), key=lambda item: (item[1] != "missing", item[0]))
        lines = [f"  {state}: {directory}/{path}" for path, state in ordered[:SHOWN]]
        if len(ordered) > SHOWN:
            lines.append(f"  … and {len(ordered) - SHOWN} more")
        return "\n".join(lines)


def is_suspected(known: Index | None, found: Index) -> bool:
    """Whether files may be missing or changed since the last `up`, whose index is `known`; True if it is None.

    `found`: the files on disk now.
    """
    return known is None or any(path not in found or entry.differs(found[path]) for path, entry in known.items())


def mark(  # noqa: PLR0913 - two trees, and what is known of them
    resources: Sequence[Resource],
    stack: str,
    known: Index | None,
    found: Index,
    written: datetime | None = None,
    *,
    is_strict: bool = False,
) -> Drift:
    """Marks the resources whose files are missing or changed, in the list `resources` itself. Returns those files.

    `known`: the index of the last `up`, made at the time `written`. `found`: the files on disk. Without an index, and
    for a resource that the Pulumi CLI has updated since, only a missing file counts. `is_strict`: the last `up` was
    interrupted, so that each file without an entry in the index may be incomplete, and counts as changed. Files that no
    resource writes are ignored.
    """
    drifted: dict[str, State] = {}
    directories = _directories(resources, stack)
    for resource in resources:
        states: dict[str, State] = {}
        compared: Index = {} if known is None or _is_newer(resource, written) else known
        for path in _paths(resource, stack, directories, known or {}):
            if state := _state(path, compared, found, is_strict=is_strict):
                states[path] = state
        if states:
            drifted |= states
            _mark(resource, next(iter(states.values())))
    return Drift(drifted)


def _is_newer(resource: Resource, written: datetime | None) -> bool:
    """Whether the engine has created or updated a resource after the index was written."""
    modified = resource.get("modified")
    return bool(written and modified and datetime.fromisoformat(str(modified)) > written)


def _state(path: str, known: Index, found: Index, *, is_strict: bool) -> State | None:
    if path not in found:
        return "missing"
    if path not in known:
        return "changed" if is_strict else None
    return "changed" if known[path].differs(found[path]) else None


def _directories(resources: Sequence[Resource], stack: str) -> Mapping[str, PurePosixPath]:
    """Returns the directory of each provider that renders Kubernetes objects, relative to the stack's build directory.

    The key is the reference by which a resource names its provider.
    """
    base = PurePosixPath("build") / stack
    found: dict[str, PurePosixPath] = {}
    for each in resources:
        inputs = cast("Resource", each.get("inputs") or {})
        if each["type"] == "pulumi:providers:kubernetes" and (path := inputs.get("renderYamlToDirectory")):
            found[f"{each['urn']}::{each['id']}"] = PurePosixPath(str(path)).relative_to(base)
    return found


def _paths(resource: Resource, stack: str, directories: Mapping[str, PurePosixPath], known: Index) -> Iterator[str]:
    """Yields the paths of the files that a resource writes, relative to the stack's build directory."""
    if resource.get("delete") or not resource.get("custom"):
        return
    if str(resource["type"]).startswith("kubernetes:"):
        directory = directories.get(str(resource.get("provider")))
        if directory and (path := _manifest(resource.get("inputs") or {})):
            yield str(directory / path)
    elif resource["type"] == TREE:
        yield from _tree(resource["outputs"], stack, known)


def _manifest(inputs: Mapping[str, Any]) -> str | None:
    """Returns the path of a Kubernetes object's manifest below the provider's directory, as in renderPathForResource.

    Returns None for a resource that is not a Kubernetes object.
    """
    metadata = inputs.get("metadata")
    if not isinstance(metadata, dict) or not inputs.get("kind"):
        return None
    meta = cast("dict[str, Any]", metadata)
    version = str(inputs["apiVersion"]).replace("/", "_").replace(":", "_")
    kind = str(inputs["kind"])
    place = "0-crd" if kind == "CustomResourceDefinition" else "1-manifest"
    return f"{place}/{version}-{kind.lower()}-{meta.get('namespace') or 'default'}-{meta['name']}.yaml"


def _tree(outputs: Mapping[str, Any], stack: str, known: Index) -> Iterator[str]:
    base = PurePosixPath("build") / stack
    root = PurePosixPath(str(outputs["root"])).relative_to(base)
    nodes = [str(name) for name in outputs["names"]]
    for node in nodes:
        yield from (f"{root}/{node}/{path!s}" for path in outputs["paths"])
    if "secretsRoot" in outputs:
        # The state contains the paths of secret files only in encrypted form, so they are taken from the index.
        secrets = PurePosixPath(str(outputs["secretsRoot"])).relative_to(base)
        depth = len(secrets.parts)
        for path in known:
            parts = PurePosixPath(path).parts
            if parts[:depth] == secrets.parts and parts[depth] in nodes:
                yield path


def _mark(resource: Resource, state: State) -> None:
    if resource["type"] == TREE:
        resource["outputs"]["written"] = TREE_MARK
        return
    outputs = cast("Resource", resource.get("outputs") or {})
    for place in (resource["inputs"], outputs, outputs.get("__inputs")):
        if isinstance(place, dict) and isinstance(cast("Resource", place).get("metadata"), dict):
            metadata = cast("Resource", place["metadata"])
            metadata["annotations"] = {**(metadata.get("annotations") or {}), MARK: state}
