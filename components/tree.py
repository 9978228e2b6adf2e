"""Files of machines as a resource: the dynamic provider behind Machine and MachinePool.

The state of a dynamic resource names this class (pickled by reference, so a hundred bytes and no code): module and
class names are part of every stack's state and must not change. It is written for that: plain functions over plain
properties, nothing imported from the rest of Quorate.

What it guarantees: files appear whole or not at all; a file that is right already is left alone; files that went away
are removed, and only those that it wrote; what somebody deleted or edited on disk shows at the next refresh. A node
may move from one resource to another in one update, in either order: `.owners/` says whose a node's files are.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from pathlib import Path, PurePosixPath
from string import Template
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

Properties = dict[str, Any]
Texts = dict[str, dict[str, str]]

COMPUTED = frozenset({"__provider", "digest"})
"""Not given by the program: the engine's own, and what was written."""

IDENTITY = ("root",)
"""A tree somewhere else is another tree."""

OWNERS = ".owners"

_LOCK = Lock()
"""The engine updates resources side by side, in one provider process."""


class TreeProvider(ResourceProvider):
    """Writes `<root>/<node>/<path>` for one node, or for each node of a pool from templates."""

    serialize_as_secret_always = False

    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        return CheckResult(news, [CheckFailure(key, reason) for key, reason in _faults(news)])

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        changed = [key for key in sorted((_olds.keys() | _news.keys()) - COMPUTED) if _olds.get(key) != _news.get(key)]
        drifted = _olds.get("digest") != _digest(contents(_news))
        replaces = [key for key in IDENTITY if key in changed]
        return DiffResult(changes=bool(changed) or drifted, replaces=replaces, delete_before_replace=True)

    def create(self, props: Properties) -> CreateResult:
        owner = secrets.token_hex(8)
        return CreateResult(owner, _write(owner, props))

    def read(self, id_: str, props: Properties) -> ReadResult:
        root = Path(props["root"])
        there = {
            node: {path: text for path in texts if (text := _text(root / node / path)) is not None}
            for node, texts in contents(props).items()
        }
        if not any(there.values()):
            return ReadResult("", {})  # an empty id: the resource is gone
        return ReadResult(id_, {**props, "digest": _digest(there)})

    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        outs = _write(_id, _news)
        _remove(_id, _olds, keep=contents(_news))
        return UpdateResult(outs)

    def delete(self, _id: str, _props: Properties) -> None:
        _remove(_id, _props, keep={})


def contents(props: Properties) -> Texts:
    """The text of every file, by node and by path below the node's directory."""
    files: dict[str, str] = props["files"]
    if "nodes" not in props:
        return {props["node"]: files}
    templates = {path: Template(text) for path, text in files.items()}
    return {
        node["node"]: {path: template.substitute(node) for path, template in templates.items()}
        for node in props["nodes"]
    }


def _faults(props: Properties) -> list[tuple[str, str]]:
    names = [node["node"] for node in props["nodes"]] if "nodes" in props else [props["node"]]
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        return [("nodes", f"{doubled[0]} stands there twice")]
    outside = [name for name in names if "/" in name or name in ("", ".", "..", OWNERS)]
    outside += [path for path in props["files"] if PurePosixPath(path).is_absolute() or ".." in path.split("/")]
    if outside:
        return [("files", f"{', '.join(outside)} leads out of the machine's own directory")]
    try:
        contents(props)
    except (KeyError, ValueError) as error:
        return [("files", f"a template uses what its nodes do not have: {error}")]
    return []


def _digest(texts: Texts) -> str:
    whole = hashlib.sha256()
    for node, files in sorted(texts.items()):
        for path, text in sorted(files.items()):
            whole.update(f"{node}/{path}\0{len(text)}\0{text}\0".encode())
    return whole.hexdigest()


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()  # as bytes: text would come back with other line ends
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        return ""  # somebody put something else there


def _write(owner: str, props: Properties) -> Properties:
    root = Path(props["root"])
    texts = contents(props)
    for node, files in texts.items():
        with _LOCK:
            _write_whole(root / OWNERS / node, owner)
            for path, text in files.items():
                _write_whole(root / node / path, text)
    return {**props, "digest": _digest(texts)}


def _write_whole(path: Path, text: str) -> None:
    if _text(path) == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_bytes(text.encode())
    unfinished.replace(path)


def _remove(owner: str, props: Properties, keep: Texts) -> None:
    """Removes the files of `props` but those kept, of nodes that nobody else has taken over."""
    root = Path(props["root"])
    for node, files in contents(props).items():
        with _LOCK:
            if _text(root / OWNERS / node) not in (owner, None):
                continue
            for path in files.keys() - keep.get(node, {}).keys():
                _unlink(root / node / path, root)
            if node not in keep:
                _unlink(root / OWNERS / node, root)


def _unlink(path: Path, root: Path) -> None:
    """Removes a file, and the directories up to the root itself that it leaves empty."""
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
