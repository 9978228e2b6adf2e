"""Fuel-CCP topologies: reads a topology file and computes which nodes may run each service, and how many instances.

`read_topology` reads a file with its includes. `place` applies it to real nodes as Fuel-CCP did. Both report every
error; `python -m blueprint.topology` prints the result. The plan decides which of its nodes an instance runs on and
whether the nodes suffice. docs/topology.md describes the differences from Fuel-CCP.
"""

from __future__ import annotations

from blueprint.topology.definitions import ByRow, architecture_service, by_row, companions_of
from blueprint.topology.place import place, roles_by_node, services_by_node
from blueprint.topology.sections import read_topology
from blueprint.topology.shapes import (
    Finding,
    Kind,
    NamedService,
    NodeKey,
    Placement,
    ServicePlacement,
    Topology,
    TopologyError,
)
from blueprint.topology.validate import judge_together

__all__ = [
    "ByRow",
    "Finding",
    "Kind",
    "NamedService",
    "NodeKey",
    "Placement",
    "ServicePlacement",
    "Topology",
    "TopologyError",
    "architecture_service",
    "by_row",
    "companions_of",
    "judge_together",
    "place",
    "read_topology",
    "roles_by_node",
    "services_by_node",
]
