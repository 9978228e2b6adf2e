"""Writes the pools that the plan chose into the servers of a stack file, so that no later change moves a node.

A pool is the group of nodes that are dedicated to a service. Only the key `pool` is written, after `roles`; the rest of
the file stays unchanged. PyYAML's node graph gives the positions in the text. A pool that the file already sets is
kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from blueprint.patterns import expand_numbered, narrow
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.inventory import guest_names
from blueprint.stackfile.loader import load_file
from commands import stack
from console.errors import UserError
from files import atomic, text_file


@dataclass(frozen=True)
class Pin:
    """The pools to write into one entry of a stack file."""

    entry: str
    """Name of the server or virtual machine, or a pattern of names."""
    pools: Mapping[str, str]
    """Pattern of the nodes' names, by pool."""
    is_whole: bool
    """Whether all nodes of the entry are in one pool."""

    def __str__(self) -> str:
        return f"{self.entry}: " + ", ".join(f"{pool} {names}" for pool, names in self.pools.items())


def pin_stack(root: Path, name: str) -> int:
    """Writes the planned pools of a stack's nodes into its stack file, and prints the changed entries."""
    file = stack.find(root, name)
    pins = pin(file)
    print("\n".join(report((root / file_of_servers(file)).relative_to(root), pins)))
    return 0


def pin(file: Path) -> list[Pin]:
    """Writes the planned pools into a stack file, or into the file with its servers.

    Returns the changed entries; [] if the file already has all pools. Raises InvalidStackError
    if the stack file is invalid and so has no plan.
    """
    result = plan(load_file(file))  # raises for an invalid stack file, before its text is read below
    file = file_of_servers(file)
    text = _text(file)
    edits, pins = _edits(result, text)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    if edits:
        atomic.write(file, text)
    return pins


def file_of_servers(file: Path) -> Path:
    """Returns the file in which the servers of a valid stack file are written: another one if it names a path."""
    servers = _written_servers(_text(file))
    return Path(str(servers.value)) if isinstance(servers, yaml.ScalarNode) else file


def _text(file: Path) -> str:
    try:
        return text_file.read(file)
    except text_file.UnreadableError as error:  # replaced since it was loaded
        raise UserError(f"{file} cannot be read: {error}. Run it again.") from None


def report(file: Path, pins: Sequence[Pin]) -> list[str]:
    """Returns the lines that `make pin` prints about the changed entries of a stack file."""
    if not pins:
        return [f"{file}: nothing to write; every dedicated node already has its pool."]
    return [f"{file}: wrote the pool of {len(pins)} entries; no node moves.", *(f"  {each}" for each in pins)]


def _edits(result: Plan, text: str) -> tuple[list[tuple[int, int, str]], list[Pin]]:
    """Returns the edits of a stack file's text (start, end and new text of each), and the pins that the edits write."""
    chosen = {node.name: node.dedicated_to or node.machine.pin for node in result.nodes}
    written = {node.name: node.machine.pin for node in result.nodes}
    entries = _items(_written_servers(text))
    edits: list[tuple[int, int, str]] = []
    pins: list[Pin] = []
    for server, entry in zip(result.settings.servers, entries, strict=True):
        numbered = expand_numbered(server.name)
        listed = _value(entry, "vms")
        # A path: the list is in another file.
        vms = [None] * len(server.vms) if isinstance(listed, yaml.ScalarNode) else _items(listed)
        places: list[tuple[yaml.MappingNode | None, str, list[str]]] = [(entry, server.name, list(numbered))]
        places += [
            (place, vm.name or f"{server.name}-vm{vm.id}", list(guest_names(vm, numbered).values()))
            for vm, place in zip(server.vms, vms, strict=True)
        ]
        for place, pattern, names in places:
            found = _pin(pattern, names, chosen)
            if found.pools and any(chosen.get(name) != written.get(name) for name in names):
                if place is None:
                    raise UserError(f"The virtual machines {pattern} are in another file; write {_flow(found)} there.")
                edits.append(_edit(text, place, found))
                pins.append(found)
    return edits, pins


def _pin(pattern: str, names: Sequence[str], chosen: Mapping[str, str | None]) -> Pin:
    by_pool: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if pool := chosen.get(name):
            by_pool[pool].append(name)
    pools = {pool: narrow(pattern, those) for pool, those in by_pool.items()}
    return Pin(pattern, pools, is_whole=any(len(those) == len(names) for those in by_pool.values()))


def _edit(text: str, entry: yaml.MappingNode, found: Pin) -> tuple[int, int, str]:
    """Returns the edit that replaces the entry's `pool`, or inserts a `pool` after its `roles`."""
    column = entry.value[0][0].start_mark.column
    pairs = {key.value: (key, value) for key, value in _pairs(entry)}
    new = _flow(found) if entry.flow_style else _block(found, column)
    if "pool" in pairs:
        key, value = pairs["pool"]
        return key.start_mark.index, _end(value), new
    after = _end((pairs.get("roles") or pairs["address"])[1])
    if entry.flow_style:
        return after, after, f", {new}"
    line_end = text.find("\n", after)
    line_end = len(text) if line_end < 0 else line_end
    return line_end, line_end, f"\n{' ' * column}{new}"


def _flow(found: Pin) -> str:
    if found.is_whole:
        return f"pool: {next(iter(found.pools))}"
    return "pool: {" + ", ".join(f'{pool}: "{names}"' for pool, names in found.pools.items()) + "}"


def _block(found: Pin, column: int) -> str:
    if found.is_whole:
        return f"pool: {next(iter(found.pools))}"
    lines = [f"{' ' * (column + 2)}{pool}: {names}" for pool, names in found.pools.items()]
    return "\n".join(["pool:", *lines])


def _written_servers(text: str) -> yaml.Node | None:
    """Returns the list of servers in the text of a stack file, or of a file that contains only this list."""
    document: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    if isinstance(document, yaml.SequenceNode):
        return document
    return _value(_value(document, "config"), "quorate:servers")


def _pairs(node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    yield from cast("list[tuple[yaml.ScalarNode, yaml.Node]]", node.value)


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for each, value in _pairs(node) if each.value == key), None)


def _items(node: yaml.Node | None) -> list[yaml.MappingNode]:
    if node is None:
        return []
    items = cast("list[yaml.Node]", node.value)
    if not all(isinstance(item, yaml.MappingNode) for item in items):
        raise UserError(
            "The servers of this stack file are not written as a list of mappings; write their pools by hand."
        )
    return cast("list[yaml.MappingNode]", items)


def _end(node: yaml.Node) -> int:
    """Returns the position where a YAML node's text ends; in block style, a collection ends with its last scalar."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _end(cast("tuple[yaml.Node, yaml.Node]", node.value[-1])[1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end(cast("yaml.Node", node.value[-1]))
    return node.end_mark.index
