"""Fuel-CCP topologies: reads such a file and says which service may run on which node, and how often.

`read_topology` reads a file with its includes, `place` lays it over real nodes as Fuel-CCP did, and both report every
error. `python -m blueprint.topology` shows it. Left out is which of its nodes an instance runs on, and whether the
nodes suffice: the plan decides both. docs/topology.md is the user's page and says where this differs from Fuel-CCP.
"""

from __future__ import annotations

from blueprint.topology.definitions import ByRow, architecture_service, by_row
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
    "judge_together",
    "place",
    "read_topology",
    "roles_by_node",
    "services_by_node",
]
