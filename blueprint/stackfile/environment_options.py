"""Finds options in a stack file that the environment of a pod would override, so that they would have no effect.

oslo.config prefers OS_<SECTION>__<OPTION> in the environment to every file. Records set such variables for values that
only a node knows, such as its address. The start script for values of single nodes removes the variable of each option
that the node's file has (openstack/scripts/node_values.sh), so that options in `quorate:nodes` take effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.openstack import options
from blueprint.openstack.projects.process_definition import Container, ProcessDefinition
from blueprint.problems import Problem
from blueprint.stackfile import further_clusters
from blueprint.stackfile.settings import Options, Settings


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each option of a project or a service that a process reads from its environment instead."""
    records = settings.records
    for name, override in settings.projects.overrides.items():
        if record := records.by_name.get(name):
            yield from _overridden(f"quorate:projects.{name}.options", record.processes, override.options)
    for name, override in settings.services.items():
        if process := records.processes.get(further_clusters.process(settings, name)):
            yield from _overridden(f"quorate:services.{name}.options", (process,), override.options)
    for pattern, values in settings.nodes.items():
        for name, given in values.services.items():
            if process := records.processes.get(name):
                fixed = [each for each in process.containers if not each.node_values]
                key = f"quorate:nodes.{pattern}.services.{name}.options"
                yield from _refusals(key, process, fixed, given.options)


def _overridden(key: str, processes: Iterable[ProcessDefinition], given: Options) -> Iterator[Problem]:
    for process in processes:
        yield from _refusals(key, process, process.containers, given)


def _refusals(
    key: str, process: ProcessDefinition, containers: Iterable[Container], given: Options
) -> Iterator[Problem]:
    for container in containers:
        read = {file.name for file in container.files}
        for file, section, name in _each(given):
            variable = f"OS_{section}__{options.canonical(name)}".upper()
            if file in read and variable in _variables(container):
                yield Problem(f"{key}.{file}.{section}.{name}", _message(process, container, variable))


def _each(given: Options) -> Iterator[tuple[str, str, str]]:
    return (
        (file, section, name) for file, sections in given.items() for section in sections for name in sections[section]
    )


def _variables(container: Container) -> set[str]:
    return {*container.environment, *container.node_address, *container.node_name}


def _message(process: ProcessDefinition, container: Container, variable: str) -> str:
    source = "the node's name" if variable in container.node_name else "the node's address"
    if variable in container.environment:
        source = f"'{container.environment[variable]}'"
    advice = (
        f"write it under quorate:nodes.<nodes>.services.{process.name}.options"
        if container.node_values
        else "remove it"
    )
    return f"has no effect on {process.name}, whose option is {source} on each node; {advice}"
