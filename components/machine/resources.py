"""Pulumi components for a machine and for a pool of identical workers, with the facts that rules and proofs use.

The facts are the same for every target. They contain the paths of secret files, but not their content. A thousand
computes are one component, MachinePool, with one set of file templates and a table of the nodes' values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

import contract
from blueprint.plan.nodes import Node
from components.component import Component, Facts, plain
from components.machine import directory
from components.machine.parts import ROOT, Parts, filled
from components.target import Target, Tree, table
from contract import RACK, SERVER, ZONE


@dataclass(frozen=True)
class MachineArgs:
    """Arguments of a machine's component: its node in the plan, its files and steps, and the target."""

    node: Node
    parts: Parts
    target: Target
    definition: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of the files that define a virtual machine, by name; empty for a physical server."""
    existing: bool = False
    """Whether the machine is already a node of a running cluster. Its component has facts, but creates no files."""


@dataclass(frozen=True)
class MachinePoolArgs:
    """Workers that differ only in name, address, server and rack.

    These four values fill the templates of their files.
    """

    nodes: Sequence[Node]
    parts: Parts
    target: Target
    existing: bool = False
    """Whether the machines are already nodes of a running cluster. Their component then creates no files."""


class MachineComponent(Component[MachineArgs]):
    """A physical or virtual machine, with its files and steps."""

    token = contract.MACHINE

    @staticmethod
    def facts(args: MachineArgs) -> Facts:
        node = args.node
        return plain(
            node=node.name,
            server=node.server,
            rack=node.rack or "",
            address=node.address,
            **class_addresses(node),
            labels=node.labels,
            existing=args.existing,
            pinned=node.pinned,
            virtual=node.virtual,
            definition=args.definition,
            files=filled(args.parts, variables(node)),
            **_common(node, args.parts),
        )

    def build(self, name: str, args: MachineArgs) -> None:
        if args.existing:
            return
        args.target.machines(name, tree(args), self.child())


class MachinePool(Component[MachinePoolArgs]):
    """A pool of workers that differ only in name, address, server and rack."""

    token = contract.MACHINE_POOL

    @staticmethod
    def facts(args: MachinePoolArgs) -> Facts:
        first = args.nodes[0]
        return plain(
            nodes=table([variables(node) | class_addresses(node) for node in args.nodes]),
            labels={key: value for key, value in first.labels.items() if key not in (SERVER, RACK, ZONE)},
            existing=args.existing,
            files=args.parts.plain_files,
            **_common(first, args.parts),
        )

    def build(self, name: str, args: MachinePoolArgs) -> None:
        if args.existing:
            return
        nodes = tuple(variables(node) for node in args.nodes)
        files = directory.entries(args.parts, {})
        whole = Tree(nodes, files, args.parts.secret_files, args.parts.node_secret_files)
        args.target.machines(name, whole, self.child())


def start(name: str, args: MachineArgs, opts: pulumi.ResourceOptions) -> Sequence[pulumi.Resource]:
    """Starts what other machines wait for on a new machine (Target.start). Returns the resources that do so."""
    return args.target.start(name, tree(args), opts) if args.parts.meeting else []


def tree(args: MachineArgs) -> Tree:
    """Returns the files of one machine's directory, for a target."""
    files = directory.entries(args.parts, args.definition)
    secret, own = args.parts.secret_files, args.parts.node_secret_files
    return Tree((variables(args.node),), files, secret, own, args.parts.meeting)


def variables(node: Node) -> dict[str, str]:
    """Returns the node's values for placeholders in templates. Only these values differ between the nodes of a pool."""
    return {"node": node.name, "server": node.server, "rack": node.rack or "", "address": node.address}


def class_addresses(node: Node) -> dict[str, str]:
    """Returns the node's addresses in networks beside management as facts, such as overlayAddress."""
    return {contract.CLASS_ADDRESS.format(name): address for name, address in node.machine.addresses.items()}


def _common(node: Node, parts: Parts) -> dict[str, Any]:
    """Returns the facts that are the same for all machines of a pool, such as taints, sizes and steps."""
    return {
        "pool": node.pool,
        "roles": node.roles,
        "taints": node.taints,
        "cpu": node.machine.cpu,
        "memory": node.machine.memory,
        "allocatable": {"cpu": node.allocatable.cpu, "memory": node.allocatable.memory},
        "file_attributes": _attributes(parts),
        "steps": [
            # Without the steps' scripts, which are in the rendered tree.
            {"name": step.name, "disrupts": step.disrupts.name if step.disrupts else ""}
            for step in parts.ordered_steps()
        ],
        "restarts": {unit.name: unit.disrupts.name if unit.disrupts else "" for unit in parts.units},
        "quorum_checks": {quorum.name: quorum.may_stop for quorum in parts.quorums.values()},
    }


def _attributes(parts: Parts) -> dict[str, dict[str, object]]:
    """Returns attributes of files by path: owner, mode, restarted unit and secrecy. Default values are left out."""
    found: dict[str, dict[str, object]] = {}
    for file in parts.files:
        said: dict[str, object] = {
            **({"owner": file.owner} if file.owner != ROOT else {}),
            **({"mode": f"{file.mode:04o}"} if file.mode != 0o644 else {}),
            **({"restarts": file.restarts.name} if file.restarts else {}),
            **({"secret": True} if file.secret else {}),
        }
        if said:
            found[file.path] = said
    return found
