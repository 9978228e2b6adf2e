"""What stands, for the next deployment to look back on, and what stood before this one.

A quorum cannot be judged by the resources of one deployment alone: three members that are there may be three others
than before. So the program leaves behind who the members are (the stack's output `standing`) and reads what its own
last deployment left, by a reference to its own stack. The comparison is the policies' (docs/adr/0005-looking-back.md).
"""

from __future__ import annotations

from typing import Any

import pulumi

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.component import plain
from contract import QUORUM_STATE_OUTPUT, STORAGE_POOL


def standing(plan: Plan) -> dict[str, Any]:
    """Members of each quorum, the nodes that may carry them with their physical hosts, and the nodes with data."""
    quorums = {"etcd": _quorum(len(plan.masters), plan.masters)}
    for service in plan.services:
        if service.quorum and service.instances:
            nodes = tuple(node for node in plan.nodes if node.pool in service.pools)
            quorums[service.name] = _quorum(service.instances, nodes)
    return plain(quorums=quorums, storage=_servers(plan.pool(STORAGE_POOL)))


def _quorum(members: int, nodes: tuple[Node, ...]) -> dict[str, Any]:
    return {"members": members, "nodes": _servers(nodes)}


def _servers(nodes: tuple[Node, ...]) -> dict[str, str]:
    return {node.name: node.server for node in nodes}


class Previous(pulumi.ComponentResource):
    """What stood after the last deployment, as an output; empty before the first one.

    Not one of our other components, whose facts are inputs as well: inputs that follow the last deployment would be a
    change of this resource after each change of a quorum, and no deployment would ever be the one that changes nothing.
    """

    standing: pulumi.Output[dict[str, Any]]
    """What stands now, for the stack's output. It comes after everything that `opts` makes this depend on: an update
    that fails on the way leaves what stood before, and the next one is compared with that."""

    def __init__(self, name: str, stands: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(contract.PREVIOUS, name, {}, opts)
        self.standing = self.urn.apply(lambda _: stands)
        own = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
        stood = pulumi.StackReference(own, opts=pulumi.ResourceOptions(parent=self)).get_output(QUORUM_STATE_OUTPUT)
        self.register_outputs({"stood": stood})
