"""The configuration files of a process, merged from all layers.

Does not import Pulumi, so that `quorate config` is fast.
"""

from __future__ import annotations

from dataclasses import replace

from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.plan.plan import Plan
from blueprint.stackfile.settings import Settings
from openstack.config.layers import ConfigFile, WrittenFile
from openstack.config.overrides import node_layers, with_options
from openstack.config.wiring import ENVIRONMENT, Wiring, wiring
from openstack.definition import ProjectDefinition
from openstack.project_definitions import projects


def files(
    project: ProjectDefinition, process: ProcessDefinition, service: str, around: Wiring, settings: Settings
) -> tuple[WrittenFile, ...]:
    """Returns the configuration files that the containers of a process use, with the stack file's options.

    `service`: the name of the process in the plan. A process with two workloads has one such name.
    """
    wanted = {file.name for container in process.containers for file in container.files}
    return tuple(
        with_options(file, settings, project.name, service)
        for file in project.configure(around, process.name)
        if file.name in wanted
    )


def on_node(file: WrittenFile, plan: Plan, service: str, node: str) -> WrittenFile:
    """Returns a service's configuration file as its process on `node` reads it, with the values for that node."""
    if not isinstance(file, ConfigFile):
        return file
    return file.with_layers(*node_layers(file.name, wiring(plan, ENVIRONMENT), plan.settings, service, node))


def of_service(plan: Plan, service: str) -> tuple[WrittenFile, ...]:
    """Returns the configuration files of a service of the plan. Raises KeyError if no project has its process."""
    runs = next((each.process for each in plan.processes if each.name == service), service)
    for project in projects(plan.settings.records):
        for process in project.processes:
            if process.name == runs:
                named = replace(process, name=service)
                return files(project, named, service, wiring(plan, ENVIRONMENT), plan.settings)
    raise KeyError(service)
