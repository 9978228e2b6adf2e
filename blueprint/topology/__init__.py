"""Reads topology files of Fuel-CCP, and computes the nodes and the number of instances of each service.

`read_topology` reads a file with its includes. `place` applies the topology to real nodes as Fuel-CCP (CCP) did. Both
report all errors; `python -m blueprint.topology` prints the result. The planner then checks whether there are enough
nodes. docs/topology.md describes the differences from Fuel-CCP.
"""

from __future__ import annotations

from blueprint.topology.databases import Databases, databases
from blueprint.topology.place import place, roles_by_node, services_by_node
from blueprint.topology.rows import ByRow, agent_hosts, by_row, companions_of
from blueprint.topology.sections import read_topology
from blueprint.topology.shapes import (
    Kind,
    NamedService,
    NodeKey,
    Placement,
    ServicePlacement,
    StackSetting,
    Topology,
    TopologyError,
    TopologyFinding,
    TopologyLine,
)
from blueprint.topology.topology_report import left_out, report
from blueprint.topology.validate import judge_together

__all__ = [
    "ByRow",
    "Databases",
    "Kind",
    "NamedService",
    "NodeKey",
    "Placement",
    "ServicePlacement",
    "StackSetting",
    "Topology",
    "TopologyError",
    "TopologyFinding",
    "TopologyLine",
    "agent_hosts",
    "by_row",
    "companions_of",
    "databases",
    "judge_together",
    "left_out",
    "place",
    "read_topology",
    "report",
    "roles_by_node",
    "services_by_node",
]
