"""The OpenStack projects of an environment: their records, with what cannot be data.

To add a project, write its record blueprint/openstack/projects/<name>.yaml and, here, a module of the same name. The
module may have these functions (openstack/definition.py):

- `configure(wiring, process)` returns the configuration files of a process or job;
- `jobs(wiring)` returns the jobs that complete before the processes start, in their order;
- `actions(wiring)` returns the jobs that run on a schedule or when the operator requests them.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from typing import Any, TypeVar

from blueprint.openstack.projects.process_definition import Container, Exec, Probe, ProcessDefinition
from blueprint.openstack.projects.project_record import ProjectRecord
from blueprint.openstack.projects.records import by_needs, records
from openstack import scripts
from openstack.definition import ProjectDefinition

_P = TypeVar("_P", bound=Probe | None)
_FUNCTIONS = ("configure", "jobs", "actions")


def _definition(record: ProjectRecord) -> ProjectDefinition:
    processes = tuple(
        replace(process, containers=tuple(map(_with_scripts, process.containers))) for process in record.processes
    )
    return ProjectDefinition(name=record.name, processes=processes, needs=record.needs, **_functions(record.name))


def _functions(project: str) -> dict[str, Any]:
    """Returns the functions of a project's module by name; {} if the project has no module."""
    name = f"{__name__}.{project}"
    if importlib.util.find_spec(name) is None:
        return {}
    module = importlib.import_module(name)
    return {each: getattr(module, each) for each in _FUNCTIONS if hasattr(module, each)}


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


PROJECTS: tuple[ProjectDefinition, ...] = tuple(_definition(record) for record in by_needs(records()).values())
"""All projects, ordered so that each comes after the projects that it needs."""

PROCESSES: dict[str, ProcessDefinition] = {
    process.name: process for project in PROJECTS for process in project.processes
}
"""The definition of every process, by the process's name in the plan."""
