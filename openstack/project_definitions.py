"""The OpenStack projects of a stack: their records, with what cannot be data.

To add a project to Quorate, write its record blueprint/openstack/projects/<name>.yaml and a module of the same name in
openstack/projects/ (project_modules.py). Those of a stack's own are in a folder beside its stack file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from blueprint.openstack.projects.process_definition import Container, Exec, Probe, ProcessDefinition
from blueprint.openstack.projects.project_record import ProjectRecord
from blueprint.openstack.projects.records import Records
from blueprint.plan.plan import Plan
from blueprint.problems import InvalidStackError, Problem
from openstack import project_modules, scripts
from openstack.definition import ProjectDefinition

_P = TypeVar("_P", bound=Probe | None)


@cache
def projects(records: Records) -> tuple[ProjectDefinition, ...]:
    """Returns all projects of a stack, ordered so that each comes after the projects that it needs.

    Raises InvalidStackError, with every problem, if Python files of the stack's own projects do not import.
    """
    found: list[ProjectDefinition] = []
    problems: list[Problem] = []
    for record in records.by_needs.values():
        try:
            found.append(_definition(records, record))
        except InvalidStackError as error:
            problems += error.problems
    if problems:
        raise InvalidStackError(problems)
    return tuple(found)


@cache
def processes(records: Records) -> Mapping[str, ProcessDefinition]:
    """Returns the definition of every process, by the process's name in the plan."""
    return {process.name: process for project in projects(records) for process in project.processes}


def of_plan(plan: Plan) -> Iterator[ProjectDefinition]:
    """Yields the projects of a plan: those with a process in it, and those that have no processes."""
    records = plan.settings.records
    placed = {records.project_of(entry.process) for entry in plan.processes}
    return (each for each in projects(records) if not each.processes or each.name in placed)


def _definition(records: Records, record: ProjectRecord) -> ProjectDefinition:
    try:
        found = tuple(
            replace(process, containers=tuple(map(_with_scripts, process.containers))) for process in record.processes
        )
    except FileNotFoundError as error:
        advice = "write one that is there, or the whole command in place of it"
        problem = Problem(records.file(record.name), f"openstack/scripts has no {Path(error.filename).name}; {advice}")
        raise InvalidStackError([problem]) from None
    functions = project_modules.functions(records, record.name)
    return ProjectDefinition(name=record.name, processes=found, needs=record.needs, **functions)


def _with_scripts(container: Container) -> Container:
    """Returns the container with the texts of its scripts in place of their names."""
    found = replace(container, ready=_with_script(container.ready), alive=_with_script(container.alive))
    return replace(found, command=scripts.text(container.script), script=None) if container.script else found


def _with_script(probe: _P) -> _P:
    if isinstance(probe, Exec) and probe.script:
        # Python starts without the site's modules: a probe is run again and again on every node.
        command = ("python3", "-ISc", scripts.text(probe.script), *probe.command)
        return replace(probe, command=command, script=None)
    return probe
