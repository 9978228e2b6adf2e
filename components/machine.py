"""Machines as resources: one for each machine of the control plane, one for each pool of identical workers.

A thousand computes are one resource whose state holds their names and one set of templates. What a machine's files
say is not decided here (machine_files.py), nor how they are written (tree.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import dynamic

from blueprint.plan.nodes import Node
from components.tree import TreeProvider
from contract import RACK, SERVER, ZONE


@dataclass(frozen=True)
class MachineArgs:
    """One machine and the text of its files, by path below its directory."""

    node: Node
    files: Mapping[str, str]


@dataclass(frozen=True)
class MachinePoolArgs:
    """Workers that differ in nothing but name, address, server and rack; `files` are templates of these four."""

    nodes: Sequence[Node]
    files: Mapping[str, str]


class Machine(dynamic.Resource, module="quorate", name="Machine"):
    """One machine, as a directory of the files that it needs."""

    digest: pulumi.Output[str]

    def __init__(self, name: str, args: MachineArgs, root: str, opts: pulumi.ResourceOptions | None = None) -> None:
        node = args.node
        inputs: dict[str, Any] = {
            "kind": "Machine",
            "node": node.name,
            "address": node.address,
            "server": node.server,
            "rack": node.rack or "",
            "roles": list(node.roles),
            "pool": node.pool,
            "pinned": node.pinned,
            "labels": node.labels,
            "taints": list(node.taints),
            "cpu": node.allocatable.cpu,
            "memory": node.allocatable.memory,
            "virtual": node.virtual,
            "files": dict(args.files),
            "root": root,
            "digest": None,
        }
        super().__init__(TreeProvider(), name, inputs, opts)


class MachinePool(dynamic.Resource, module="quorate", name="MachinePool"):
    """Identical workers, as a directory each."""

    digest: pulumi.Output[str]

    def __init__(self, name: str, args: MachinePoolArgs, root: str, opts: pulumi.ResourceOptions | None = None) -> None:
        first = args.nodes[0]
        inputs: dict[str, Any] = {
            "kind": "MachinePool",
            "pool": first.pool,
            "roles": list(first.roles),
            "labels": {key: value for key, value in first.labels.items() if key not in (SERVER, RACK, ZONE)},
            "taints": list(first.taints),
            "cpu": first.allocatable.cpu,
            "memory": first.allocatable.memory,
            "nodes": [variables(node) for node in args.nodes],
            "files": dict(args.files),
            "root": root,
            "digest": None,
        }
        super().__init__(TreeProvider(), name, inputs, opts)


def variables(node: Node) -> dict[str, str]:
    """What the templates of a pool may use of each node."""
    return {"node": node.name, "server": node.server, "rack": node.rack or "", "address": node.address}
