"""Writes a machine that comes in place of a dead one into the text of a stack file.

PyYAML's node graph gives the positions, and only scalars are replaced: every other byte stays (ADR 10).
"""

from __future__ import annotations

import difflib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from blueprint.patterns import expand
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from files import text_file

Edit = tuple[yaml.ScalarNode, str]


@dataclass(frozen=True)
class NewMachine:
    """What differs between the machine that comes and the dead one. Values are "" where they stay."""

    name: str = ""
    address: str = ""
    host_key: str = ""


@dataclass(frozen=True)
class StackFileChange:
    """The text of a stack file before and after a machine was replaced."""

    file: Path
    before: str
    after: str

    @property
    def difference(self) -> str:
        """The changed lines as a unified diff; "" if nothing changes."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.file.name, self.file.name, n=1))


def changed(file: Path, planned: Plan, dead: str, new: NewMachine) -> StackFileChange:
    """Returns the change of a stack file. `planned`: its plan now. Writes nothing that stays.

    Raises UserError if the file has no entry of the machine alone, or if the change would move other machines.
    """
    text = text_file.read(file)
    config = _value(yaml.compose(text, yaml.SafeLoader), "config")
    edits = list(_edits(config, dead, new))
    after = text
    for node, value in sorted(edits, key=lambda edit: -edit[0].start_mark.index):
        after = after[: node.start_mark.index] + _written(node, value) + after[node.end_mark.index :]
    change = StackFileChange(file, text, after)
    _require_same_plan(change, planned, dead, new.name or dead)
    return change


def _edits(config: yaml.Node | None, dead: str, new: NewMachine) -> Iterator[Edit]:
    entry, is_alone = _entry(_value(config, "quorate:servers"), dead)
    if not is_alone and (new.name or new.address):
        raise UserError(
            f"{dead} is one of a pattern of names in the stack file, which gives its name and address. Keep the name "
            "(no --with), or write an entry of its own for it first; `quorate diff` must then say that nothing changes."
        )
    if new.name:
        yield from ((each, new.name) for each in _scalars(config) if each.value == dead)
    if new.address:
        yield _scalar(entry, "address", dead), new.address
    if new.host_key:
        keys = _value(entry, "hostKey")
        place, key = (keys, dead) if isinstance(keys, yaml.MappingNode) else (entry, "hostKey")
        yield _scalar(place, key, dead), new.host_key


def _entry(servers: yaml.Node | None, dead: str) -> tuple[yaml.MappingNode, bool]:
    """Returns the entry of a machine, and whether it is of this machine alone. Raises UserError if there is none."""
    for server in _mappings(servers):
        vms = _mappings(_value(server, "vms"))
        for each in (server, *vms):
            written = _value(each, "name")
            pattern = str(written.value) if isinstance(written, yaml.ScalarNode) else ""
            if pattern == dead:
                return each, True
            if pattern and dead in expand(pattern):
                return each, False
    raise UserError(
        f"{dead} has no entry with its name in the stack file itself; write the change by hand, and run `replace` "
        "without --with, --address and --host-key."
    )


def _require_same_plan(change: StackFileChange, planned: Plan, dead: str, new: str) -> None:
    """Raises UserError unless the changed file is valid, and every machine has the same place as before."""
    with tempfile.NamedTemporaryFile("w", dir=change.file.parent, prefix=".replaced-", suffix=".yaml") as copy:
        copy.write(change.after)
        copy.flush()
        try:
            found = plan(load_file(Path(copy.name)))
        except InvalidStackError as error:
            raise UserError(
                f"With this change the stack file would be invalid:\n{error}\n{change.difference}"
            ) from None
    before = {new if node.name == dead else node.name: (node.pool, node.roles) for node in planned.machines}
    after = {node.name: (node.pool, node.roles) for node in found.machines}
    if moved := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        raise UserError(
            f"With this change other machines would get another place: {', '.join(moved)}. Run `quorate pin` first, so "
            "that every node keeps its pool."
        )


def _written(node: yaml.ScalarNode, value: str) -> str:
    """Returns a value as the scalar was written, with its quotes."""
    if node.style == "'":
        return f"'{value}'"
    return value if node.style is None and yaml.safe_load(value) == value else json.dumps(value)


def _scalar(node: yaml.Node, key: str, dead: str) -> yaml.ScalarNode:
    found = _value(node, key)
    if not isinstance(found, yaml.ScalarNode):
        raise UserError(f"The entry of {dead} in the stack file has no {key} to replace; write it by hand.")
    return found


def _scalars(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Yields all keys and values below a node. An alias yields what it refers to once more, which changes nothing."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield from (*_scalars(key), *_scalars(value))
    elif isinstance(node, yaml.SequenceNode):
        for each in cast("list[yaml.Node]", node.value):
            yield from _scalars(each)


def _mappings(node: yaml.Node | None) -> list[yaml.MappingNode]:
    entries = cast("list[yaml.Node]", node.value) if isinstance(node, yaml.SequenceNode) else []
    return [each for each in entries if isinstance(each, yaml.MappingNode)]


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
    return next((value for each, value in pairs if each.value == key), None)
