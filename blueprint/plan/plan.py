"""The plan of a stack: what planner.py computes, and what components, commands and the proof read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from blueprint.architecture.model import Architecture
from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.assignment import Assignment
from blueprint.plan.layout import ServicePlan, not_retired
from blueprint.plan.nodes import Node
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Settings
from contract import MASTER_POOL


@dataclass(frozen=True)
class Plan:
    """The plan of a stack: nodes, services, resource requests and a feasible assignment of instances to nodes."""

    settings: Settings
    architecture: Architecture
    hosts: tuple[Machine, ...]
    """Servers with the role virt, which run virtual machines. They are nodes only if they are compute nodes too."""
    nodes: tuple[Node, ...]
    """The Kubernetes nodes."""
    etcd_machines: tuple[Node, ...]
    """Machines of role etcd, which are not Kubernetes nodes; () if the masters carry etcd's members."""
    services: tuple[ServicePlan, ...]
    """The services of the architecture's rows, including retired rows."""
    companions: tuple[ServicePlan, ...]
    sizes: Mapping[str, Resources]
    """The requests and limits of one pod of each process, by the process's name."""
    assignment: tuple[Assignment, ...]
    warnings: tuple[str, ...]

    @property
    def processes(self) -> tuple[ServicePlan, ...]:
        """The services that run in the stack: those of rows that are not retired, and their companions."""
        return (*not_retired(self.services), *self.companions)

    @cached_property
    def masters(self) -> tuple[Node, ...]:
        """The Kubernetes masters."""
        return self.carrying(MASTER_POOL)

    @property
    def members(self) -> tuple[Node, ...]:
        """The machines with a member of etcd: those of role etcd if the stack has any, otherwise the masters."""
        return self.etcd_machines or self.masters

    @property
    def machines(self) -> tuple[Node, ...]:
        """All machines with files and steps: machines of role etcd, and Kubernetes nodes."""
        return (*self.etcd_machines, *self.nodes)

    @cached_property
    def workloads(self) -> tuple[tuple[str, ServicePlan], ...]:
        """The workloads of the stack: pairs of the workload's name and its service.

        A service that runs on compute nodes and on other nodes has two DaemonSets, because the DaemonSet on compute
        nodes updates many nodes at a time and the other one updates one node at a time.
        """
        return tuple(part for process in self.processes for part in process.parts(self.nodes))

    def pool(self, name: str) -> tuple[Node, ...]:
        """Returns the nodes of the pool `name`."""
        return tuple(node for node in self.nodes if node.pool == name)

    def carrying(self, role: str) -> tuple[Node, ...]:
        """Returns the nodes whose machines have the role `role`, in any pool."""
        return tuple(node for node in self.nodes if role in node.roles)
