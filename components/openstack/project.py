"""The component of an OpenStack project, such as Nova: its jobs, processes and actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

import contract
from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.openstack.projects.records import after_needs
from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from components.component import Component, Facts, plain
from components.openstack.jobs import JobArgs, action, job
from components.openstack.process import Process, ProcessArgs
from components.openstack.scope import Scope
from openstack import address_files, configuration
from openstack.definition import ProjectDefinition

Placed = tuple[ProcessDefinition, ServicePlan]
"""A process that the plan contains, with its entry in the plan."""


@dataclass(frozen=True)
class ProjectArgs:
    """Arguments of a project's component: definition, processes in the plan, and workloads that the project needs."""

    definition: ProjectDefinition
    plan: Plan
    placements: tuple[Placed, ...]
    beside: ServicePlan
    """The plan's entry of the process on whose pools of nodes the project's jobs run."""
    scope: Scope
    needs: Sequence[pulumi.Resource]
    """Workloads of the projects that this project needs."""
    after_quorum: Sequence[pulumi.Resource] = ()
    """The workload of the quorum that is rolled before the project's first one; () for the first of all."""


class Project(Component[ProjectArgs]):
    """An OpenStack project in an environment: its jobs, the processes that start after them, and its actions."""

    token = contract.PROJECT
    workloads: tuple[pulumi.Resource, ...]
    """Workloads of the project's processes. Projects that need this project are created after them."""
    last_quorum: Sequence[pulumi.Resource]
    """The workload of the last quorum so far. The next quorum depends on it, so that one quorum is rolled at a time."""

    @staticmethod
    def facts(args: ProjectArgs) -> Facts:
        return plain(
            project=args.definition.name,
            environment=args.scope.environment,
            needs=args.definition.needs,
            processes=[process.name for process, _ in args.placements],
            jobs=[job.name for job in args.definition.jobs(args.scope.wiring)],
        )

    def build(self, name: str, args: ProjectArgs) -> None:
        needs = self._jobs(name, args) or [*args.scope.foundation.classes, *args.needs]
        self.workloads = tuple(self._processes(name, args, needs))
        by_name = {placement.name: placement for _, placement in args.placements}
        for definition in args.definition.actions(args.scope.wiring):
            placement = by_name.get(definition.beside or "", args.beside)
            arguments = JobArgs(
                definition.job, args.definition, placement, args.plan.settings, args.scope, definition.mounts
            )
            child = self.child(depends_on=[args.scope.foundation.namespace, *self.workloads])
            action(f"{name}-{_suffix(definition.job.name, args.definition.name)}", definition, arguments, child)

    def _processes(self, name: str, args: ProjectArgs, needs: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Creates the project's processes and returns their workloads."""
        built: defaultdict[str | None, list[pulumi.Resource]] = defaultdict(list)
        self.last_quorum = args.after_quorum
        for process, placement in in_order(args.placements):
            turn = self.last_quorum if placement.quorum else ()
            arguments = _process_args(args, process, placement, [*needs, *built[process.after], *turn])
            workload = Process(child_name(name, process), arguments, self.child()).workload
            built[placement.process].append(workload)
            if placement.quorum:
                self.last_quorum = [workload]
        return [workload for workloads in built.values() for workload in workloads]

    def _jobs(self, name: str, args: ProjectArgs) -> list[pulumi.Resource]:
        """Creates the project's jobs, each of which depends on the previous job.

        Returns the last job; [] without jobs.
        """
        last: list[pulumi.Resource] = []
        for definition in args.definition.jobs(args.scope.wiring):
            arguments = JobArgs(definition, args.definition, args.beside, args.plan.settings, args.scope)
            suffix = _suffix(definition.name, args.definition.name)
            first = last or [*args.scope.foundation.classes, *args.needs]
            last = [job(f"{name}-{suffix}", arguments, self.child(depends_on=[args.scope.foundation.namespace]), first)]
        return last


def in_order(placements: Sequence[Placed]) -> list[Placed]:
    """Returns the processes so that each comes after the one that must be ready before it."""
    places = {process.name: place for place, (process, _) in reversed(list(enumerate(placements)))}
    needs = {process.name: places.keys() & {process.after} for process, _ in placements}
    names = after_needs(needs, places)
    return sorted(placements, key=lambda placed: names.index(placed[0].name))


def _suffix(job: str, project: str) -> str:
    return job.removeprefix(f"{project}-")


def child_name(name: str, process: ProcessDefinition) -> str:
    """Returns the resource name of a process, which contains the project's name once: `…-nova-api`, `…-keystone`.

    `name`: the resource name of the project.
    """
    if process.name == process.project:
        return name
    return f"{name}-{process.name.removeprefix(f'{process.project}-')}"


def _process_args(
    args: ProjectArgs, process: ProcessDefinition, placement: ServicePlan, needs: Sequence[pulumi.Resource]
) -> ProcessArgs:
    plan = args.plan
    return ProcessArgs(
        definition=address_files.with_address(process, args.scope.wiring),
        placement=placement,
        written=configuration.files(args.definition, process, placement.name, args.scope.wiring, plan.settings),
        scope=args.scope,
        settings=plan.settings,
        resources=plan.sizes[placement.name],
        nodes=tuple(node for node in plan.nodes if placement.may_use(node)),
        replaces=tuple(other.name for other in plan.services if other.replaced_by == placement.name),
        needs=needs,
    )
