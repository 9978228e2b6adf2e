"""The dynamic provider that writes the files of machines for the render target.

The state of a dynamic resource refers to this class by module and class name (pickled by reference, about a hundred
bytes without code). Both names are part of every stack's state and must not change.

Guarantees:

- Files are written atomically. Unchanged files are not touched.
- Files that are no longer needed are removed, but only files that this provider wrote.
- A refresh detects files that were deleted or edited, or whose mode changed.
- A node may move from one resource to another in one update, in whichever order the engine updates the resources:
  `.owners/` records which resource owns a node's files, and a resource deletes only files of nodes that it owns.

Since a state can be edited, every operation first checks that its old and new properties refer only to paths below
`build/<stack>/machines` and `build/<stack>/secrets/machines` of the clone, where the engine runs.

Secret files are compared by their content in the state, which the engine encrypts. No digest of them is stored. The
property `secrets` has the text of each file that all nodes share, `nodeSecrets` the texts of each other one by node, as
JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from components.templates import fill, has_places
from contract import STACK_NAME

Properties = dict[str, Any]

IDENTITY = ("root", "secretsRoot")
"""Names of properties whose change replaces the resource."""

PLACES = {"root": f"build/{STACK_NAME}/machines", "secretsRoot": f"build/{STACK_NAME}/secrets/machines"}
"""Patterns of the directories below the clone in which the provider may write, by property."""

SECRET = ("secrets", "nodeSecrets")
"""Names of properties with the contents of secret files."""
OWNERS = ".owners"
DRIFTED = "drifted"

_LOCK = Lock()
"""Serializes writes and removals, because one provider process serves several resources in parallel threads."""


class TreeProvider(ResourceProvider):
    """Writes files of nodes from templates: `<root>/<node>/<path>`, and `<secretsRoot>/<node>/<path>` for secret files.

    Outputs: `names` of the nodes, `paths` and `digest` of the files, and `written`, a digest of the templates and of
    the nodes' values.
    """

    serialize_as_secret_always = False

    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        return CheckResult(news, [CheckFailure(key, reason) for key, reason in _faults(news)])

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        replaces = [key for key in IDENTITY if _olds.get(key) != _news.get(key)]
        changed = _olds.get("written") != _asked(_news) or any(_olds.get(key) != _news.get(key) for key in SECRET)
        return DiffResult(changes=changed or bool(replaces), replaces=replaces, delete_before_replace=True)

    def create(self, props: Properties) -> CreateResult:
        _require_inside(props)
        owner = secrets.token_hex(8)
        return CreateResult(owner, _write(owner, props))

    def read(self, id_: str, props: Properties) -> ReadResult:
        _require_inside(props)
        root = Path(props["root"])
        if not any((root / name).exists() for name in props["names"]):
            return ReadResult("", {})  # an empty id: the resource is gone
        there = {name: {path: _found(root / name / path) for path in props["paths"]} for name in props["names"]}
        outs = dict(props) if _digest(there) == props["digest"] else {**props, "written": DRIFTED}
        if "secrets" in props:
            outs["secrets"] = _secrets_found(props)
        if "nodeSecrets" in props:
            outs["nodeSecrets"] = _node_secrets_found(props)
        return ReadResult(id_, outs)

    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        _require_inside(_olds)
        _require_inside(_news)
        outs = _write(_id, _news)
        _remove(_id, _olds, keep=outs)
        return UpdateResult(outs)

    def delete(self, _id: str, _props: Properties) -> None:
        _require_inside(_props)
        _remove(_id, _props, keep={"names": []})


Found = tuple[int, str] | None
"""Mode and text of a readable regular file; None if the path is something else, such as a link, or does not exist."""


def contents(props: Properties) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields each node's name and the texts of its files without secrets, by path below the node's directory."""
    templates: dict[str, str] = props["files"]
    own = {path: text for path, text in templates.items() if has_places(text)}
    shared = fill({path: text for path, text in templates.items() if path not in own}, {})
    for node in _nodes(props):
        yield node["node"], {**shared, **fill(own, node)}


def _asked(props: Properties) -> str:
    """Returns a digest of the templates and of the nodes' values.

    With this digest, a preview need not fill the templates for a thousand nodes.
    """
    asked = json.dumps([props["files"], props["nodes"]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _nodes(props: Properties) -> list[dict[str, str]]:
    """Returns the template values of each node, which the property `nodes` contains as JSON."""
    return json.loads(props["nodes"])


def mode_of(text: str) -> int:
    """Returns the mode of a rendered file: scripts are executable."""
    return 0o755 if text.startswith("#!") else 0o644


def _faults(props: Properties) -> list[tuple[str, str]]:
    names = [node["node"] for node in _nodes(props)]
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        return [("nodes", f"{doubled[0]} is listed twice")]
    if outside := _outside(props):
        return outside
    try:
        for _ in contents(props):
            pass
    except (KeyError, ValueError) as error:
        return [("files", f"a template uses a value that a node does not have: {error}")]
    return []


def _outside(props: Properties) -> list[tuple[str, str]]:
    """Returns the properties with paths outside the stack's directories, each with an error text; [] for none."""
    places = [
        (key, f"{props.get(key)!r} is not a directory of a stack; expected build/<stack>/{pattern.rpartition('}/')[2]}")
        for key, pattern in PLACES.items()
        if (key in props or key == "root") and not re.fullmatch(pattern, str(props.get(key)))
    ]
    if any(props.get(key) for key in SECRET) and "secretsRoot" not in props:
        places.append(("secretsRoot", "is missing beside secrets"))
    names = [node["node"] for node in _nodes(props)] if "nodes" in props else list(props.get("names", ()))
    paths = [*props.get("files", ()), *props.get("paths", ())]
    paths += [path.removeprefix("/") for path in _secret_paths(props)]
    outside = [name for name in names if "/" in name or "\0" in name or name in ("", ".", "..", OWNERS)]
    outside += [path for path in paths if not _is_below(path)]
    if outside:
        places.append(("files", f"{', '.join(map(repr, outside))} leads out of the machine's own directory"))
    return places


def _is_below(path: str) -> bool:
    """Whether a relative path stays below a directory to which it is appended."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path


def _require_inside(props: Properties) -> None:
    """Raises ValueError if a property refers to a path outside the stack's directories."""
    for key, reason in _outside(props):
        raise ValueError(f"{key}: {reason}. Nothing was written or deleted; was the state edited?")


def _digest(trees: dict[str, dict[str, Found]]) -> str:
    whole = hashlib.sha256()
    for node, files in sorted(trees.items()):
        for path, found in sorted(files.items()):
            mode, text = found or (0, "")
            whole.update(f"{node}/{path}\0{mode:o}\0{len(text)}\0{text}\0".encode())
    return whole.hexdigest()


def _found(path: Path) -> Found:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        # As bytes, because text mode would convert line endings.
        return stat.S_IMODE(status.st_mode), path.read_bytes().decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def _secrets_found(props: Properties) -> dict[str, str]:
    """Returns the secret files that are intact on every node, by path: unchanged and with the mode 0600."""
    root, names = Path(props["secretsRoot"]), props["names"]
    right = {path: (0o600, text) for path, text in props["secrets"].items()}
    return {
        path: text
        for path, text in props["secrets"].items()
        if all(_found(_secret_path(root, name, path)) == right[path] for name in names)
    }


def _node_secrets(props: Properties) -> dict[str, dict[str, str]]:
    """Returns the texts of secret files of single nodes, by path and node."""
    given: dict[str, str] = props.get("nodeSecrets") or {}
    return {path: json.loads(texts) for path, texts in given.items()}


def _node_secrets_found(props: Properties) -> dict[str, str]:
    """Returns those of these texts that are intact, in the form of the property."""
    root = Path(props["secretsRoot"])
    found = {
        path: {name: text for name, text in own.items() if _found(_secret_path(root, name, path)) == (0o600, text)}
        for path, own in _node_secrets(props).items()
    }
    return {path: json.dumps(own, sort_keys=True) for path, own in found.items()}


def _secret_paths(props: Properties) -> set[str]:
    return {path for key in SECRET for path in props.get(key) or ()}


def _secret_path(root: Path, node: str, path: str) -> Path:
    return root / node / path.lstrip("/")


def _write(owner: str, props: Properties) -> Properties:
    root = Path(props["root"])
    trees: dict[str, dict[str, Found]] = {}
    shared: dict[str, str] = props.get("secrets") or {}
    own = _node_secrets(props)
    for node, files in contents(props):
        hidden = {**shared, **{path: texts[node] for path, texts in own.items() if node in texts}}
        with _LOCK:
            write_whole(root / OWNERS / node, owner, 0o644)
            for path, text in files.items():
                write_whole(root / node / path, text, mode_of(text))
            for path, text in hidden.items():
                _write_secret(Path(props["secretsRoot"]), node, path, text)
        trees[node] = {path: (mode_of(text), text) for path, text in files.items()}
    given = {key: props[key] for key in (*IDENTITY, *SECRET) if key in props}
    names, paths = [*trees], [*props["files"]]
    return {**given, "names": names, "paths": paths, "written": _asked(props), "digest": _digest(trees)}


def write_whole(path: Path, text: str, mode: int) -> None:
    """Writes a file atomically, unless it has the text and the mode already. Creates missing directories."""
    if _found(path) == (mode, text):
        return
    unfinished = path.with_name(f".{path.name}.unfinished")
    with open(unfinished, "wb", opener=_opener) as file:
        file.write(text.encode())
        os.fchmod(file.fileno(), mode)
    unfinished.replace(path)


def _opener(path: str, flags: int) -> int:
    """Opens a file, which gets the mode 0600 if it is new, and creates missing directories."""
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)


def _write_secret(root: Path, node: str, path: str, text: str) -> None:
    for directory in (root.parent, root, root / node):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(_secret_path(root, node, path), text, 0o600)


def _remove(owner: str, props: Properties, keep: Properties) -> None:
    """Removes the files of `props` that are not in `keep`, on nodes that the resource `owner` owns."""
    root = Path(props["root"])
    for node in props["names"]:
        with _LOCK:
            mark = _found(root / OWNERS / node)
            if mark is None or mark[1] != owner:
                continue
            kept = keep if node in keep["names"] else {}
            for path in set(props["paths"]) - set(kept.get("paths", ())):
                _unlink(root / node / path, root)
            for path in _secret_paths(props) - _secret_paths(kept):
                _unlink(_secret_path(Path(props["secretsRoot"]), node, path), Path(props["secretsRoot"]))
            if not kept:
                _unlink(root / OWNERS / node, root)


def _unlink(path: Path, root: Path) -> None:
    """Removes a file, and then the empty directories above the file, up to and including `root`."""
    if not path.parent.resolve().is_relative_to(root.resolve()):
        return  # a link leads out of the tree
    path.unlink(missing_ok=True)
    for directory in path.parents:
        if directory == root.parent:
            return
        try:
            directory.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # not empty
            return
