"""A project: the processes that share a database, a user, endpoints, jobs and secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

import contract
from blueprint.plan.layout import ServicePlan
from blueprint.plan.planner import Plan
from components.component import Component, Facts, plain
from components.openstack.definition import ProcessDefinition, ProjectDefinition
from components.openstack.process import Process, ProcessArgs


@dataclass(frozen=True)
class ProjectArgs:
    """A project, the part of it that the plan contains, and what must exist first."""

    definition: ProjectDefinition
    plan: Plan
    placements: tuple[tuple[ProcessDefinition, ServicePlan], ...]
    """The processes that the plan contains, each with its entry."""
    environment: str
    foundation: Sequence[pulumi.Resource]
    """The environment's shared objects."""
    needs: Sequence[pulumi.Resource]
    """Workloads of the projects that it needs."""


class Project(Component[ProjectArgs]):
    """One project of an environment."""

    token = contract.PROJECT
    workloads: tuple[pulumi.Resource, ...]
    """The workloads of its processes; projects that need this one wait for them."""

    @staticmethod
    def facts(args: ProjectArgs) -> Facts:
        return plain(
            project=args.definition.name,
            environment=args.environment,
            needs=args.definition.needs,
            processes=[process.name for process, _ in args.placements],
        )

    def build(self, name: str, args: ProjectArgs) -> None:
        self.workloads = tuple(
            Process(child_name(name, process), _process_args(args, process, placement), self.child()).workload
            for process, placement in args.placements
        )


def child_name(name: str, process: ProcessDefinition) -> str:
    """Returns the resource name of a process. The project's name is not repeated: `…-nova-api`, `…-keystone`."""
    if process.name == process.project:
        return name
    return f"{name}-{process.name.removeprefix(f'{process.project}-')}"


def _process_args(args: ProjectArgs, process: ProcessDefinition, placement: ServicePlan) -> ProcessArgs:
    plan = args.plan
    return ProcessArgs(
        definition=process,
        placement=placement,
        environment=args.environment,
        settings=plan.settings,
        resources=plan.sizes[placement.name],
        nodes=tuple(node for node in plan.nodes if node.pool in placement.pools),
        replaces=tuple(other.name for other in plan.services if other.replaced_by == placement.name),
        foundation=args.foundation,
        needs=args.needs,
    )
