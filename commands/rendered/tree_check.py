"""Compares a stack's rendered tree with the index that the last `up` wrote, and writes the index after an `up`."""

from __future__ import annotations

from typing import Any

from commands.engine.operation import Operation
from commands.rendered import tree_drift, tree_index


def write_again(operation: Operation) -> None:
    """Reports missing and changed files of the rendered tree, and marks them in the state: `up` writes them again."""
    _record(operation, " and written again")


def record(operation: Operation) -> None:
    """Reports missing and changed files of the rendered tree, and marks them in the state for the next `up`."""
    _record(operation, f"; `make up STACK={operation.stack.name}` writes them again")


def _record(operation: Operation, remedy: str) -> None:
    deployment, drift = _drift(operation)
    if drift and drift.files:
        operation.give_deployment(deployment)
        print(f"{_count(drift)}{remedy}:\n{drift.report(_place(operation))}", flush=True)


def warn(operation: Operation) -> None:
    """Reports missing and changed files of the rendered tree, and changes nothing."""
    _, drift = _drift(operation)
    if drift and drift.files:
        command = f"make up STACK={operation.stack.name}"
        print(f"{_count(drift)}; `{command}` writes them again:\n{drift.report(_place(operation))}", flush=True)


def begin(operation: Operation) -> None:
    """Notes that an `up` writes the rendered tree. An interrupted `up` leaves the note for the next one."""
    if operation.stack.is_rendered:
        operation.workspace.unfinished_tree.touch()


def remember(operation: Operation) -> None:
    """Writes the index of the rendered tree after a completed `up`."""
    if operation.stack.is_rendered:
        workspace = operation.workspace
        found = tree_index.scan(workspace.directory, tree_index.read(workspace.tree_index) or {})
        tree_index.write(workspace.tree_index, found)
        workspace.unfinished_tree.unlink(missing_ok=True)


def _drift(operation: Operation) -> tuple[dict[str, Any], tree_drift.Drift | None]:
    """Returns the state with marks on the resources of drifted files, and the drifted files.

    A drifted file is missing or changed since the last completed `up`. Without a state, or if no file can have drifted,
    returns an empty state and None, because an export of the state takes time.
    """
    workspace = operation.workspace
    if not operation.stack.is_rendered or (workspace.state_file and not workspace.has_state):
        return {}, None
    known = tree_index.read(workspace.tree_index)
    found = tree_index.scan(workspace.directory, known or {})
    is_unfinished = workspace.unfinished_tree.exists()
    if not is_unfinished and not tree_drift.is_suspected(known, found):
        return {}, None
    deployment = operation.deployment()
    resources: list[tree_drift.Resource] = deployment["deployment"].get("resources") or []
    written = None if is_unfinished else tree_index.written(workspace.tree_index)
    return deployment, tree_drift.mark(resources, operation.stack.name, known, found, written, is_strict=is_unfinished)


def _count(drift: tree_drift.Drift) -> str:
    count = len(drift.files)
    return f"{count} rendered {'file is' if count == 1 else 'files are'} missing or changed since the last `up`"


def _place(operation: Operation) -> str:
    return str(operation.workspace.directory.relative_to(operation.workspace.root))
