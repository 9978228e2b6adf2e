"""Adds the settings that a Fuel-CCP topology's configuration keys became to the settings of a stack.

The stack then has them as if its stack file had them. Settings of the stack file have precedence. topology_databases.py
does the same for the topology's databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from blueprint.model_errors import expected, location
from blueprint.openstack.options import is_listed, listed
from blueprint.problems import Problem
from blueprint.stackfile.ceph_settings import CephSettings
from blueprint.stackfile.cloud_content import Bootstrap
from blueprint.stackfile.settings import (
    Ingress,
    Networks,
    NodeOverride,
    NodeServiceOverride,
    Options,
    Override,
    PhysicalNetwork,
    ProjectOverride,
    Settings,
)
from blueprint.topology import TopologyError, TopologyLine, place, read_topology
from blueprint.topology.document import as_section
from blueprint.topology_databases import KEY, with_databases
from files import yaml_reader

Tree = dict[str, Any]
"""Settings as in a stack file, by key."""


def with_topology(settings: Settings, names: list[str]) -> Settings:
    """Returns the settings with those of their topology: optional projects, databases and configuration keys.

    Settings that are not valid are left out; problems() has them. `names`: the nodes on which the topology may place
    services.
    """
    settings = with_databases(_with_projects(settings, names), names)
    try:
        topology = read_topology(Path(settings.topology or ""), settings.records)
    except TopologyError:
        return settings  # topology_layout.py reports the errors
    lines = place(topology, names).configs
    if any(problems(lines)):
        return settings
    return _merged(settings, tree(lines, settings.release))


def _with_projects(settings: Settings, names: list[str]) -> Settings:
    """Returns the settings with the optional projects whose services their topology places."""
    try:
        topology = read_topology(Path(settings.topology or ""), settings.records)
    except TopologyError as error:
        topology = error.topology
    placed = {each.definition for each in place(topology, names).services.values()}
    known = topology.known
    asked = {known.projects[name] for name in placed & known.projects.keys() if known.services[name].companion}
    added = {name: ProjectOverride() for name in asked & settings.records.not_asked_for.keys()}
    return settings.model_copy(update={"projects": settings.projects.model_copy(update=added)})


def tree(lines: Iterable[TopologyLine], release: str) -> Tree:
    """Returns the settings of lines as in a stack file. Later lines have precedence, as layers of CCP have.

    `release`: the stack's release of OpenStack, which decides the names of options.
    """
    whole: Tree = {}
    for setting in (setting for line in lines for setting in line.settings):
        *above, last = setting.path
        if setting.former and above[-3] == "options" and not _has(release, above[-2], above[-1], last):
            last = setting.former
        part: Any = whole
        for name in above:
            if not isinstance(part.get(name), dict):
                part[name] = {}
            part = part[name]
        value, there = as_section(setting.value), as_section(part.get(last))
        part[last] = setting.value if value is None or there is None else value | there
    return whole


def problems(lines: Iterable[TopologyLine]) -> Iterator[Problem]:
    """Yields a problem for each configuration key whose value the setting cannot have."""
    kept = [line for line in lines if line.settings]
    whole = tree(kept, "")
    sources = {setting.path: line.key for line in kept for setting in line.settings}
    for path, model, value in _models(whole):
        try:
            model.model_validate_json(yaml_reader.to_json(value))
        except ValidationError as error:
            for each in error.errors(include_url=False):
                at = (*path, *map(str, location(each)))
                wrong = "is missing" if each["type"] == "missing" else f"cannot be {_place(at)}"
                advice = "write it" if each["type"] == "missing" else f"write {expected(each)}"
                where = _place(at) if each["type"] == "missing" else ""
                yield Problem(_source(at, sources), " ".join(part for part in (where, f"{wrong}; {advice}") if part))


def _models(whole: Tree) -> Iterator[tuple[tuple[str, ...], type[BaseModel], Any]]:
    """Yields the parts of the settings that a model checks, with their path."""
    models: Mapping[str, type[BaseModel]] = {
        "projects": ProjectOverride, "services": Override, "nodes": NodeOverride,
    }  # fmt: skip
    for key, model in models.items():
        yield from (((key, name), model, value) for name, value in whole.get(key, {}).items())
    for name, value in whole.get("networks", {}).get("physical", {}).items():
        yield ("networks", "physical", name), PhysicalNetwork, value
    if "bootstrap" in whole:
        yield ("bootstrap",), Bootstrap, whole["bootstrap"]
    if "ceph" in whole:
        yield ("ceph",), CephSettings, whole["ceph"]
    if "ingress" in whole:
        yield ("ingress",), Ingress, whole["ingress"]


def _source(at: tuple[str, ...], sources: Mapping[tuple[str, ...], str]) -> str:
    """Returns the topology's key of the setting at, above or below a place."""
    longest = max((path for path in sources if at[: len(path)] == path), key=len, default=None)
    if longest is None:
        longest = next((path for path in sources if path[: len(at) - 1] == at[:-1]), None)
    return f"{KEY} ({sources[longest] if longest else _place(at)})"


def _place(path: Iterable[str]) -> str:
    return f"quorate:{'.'.join(path)}"


def _has(release: str, file: str, section: str, name: str) -> bool:
    return not is_listed(release, file) or name in listed(release, file).get(section, {})


def _merged(settings: Settings, whole: Tree) -> Settings:
    """Returns the settings with those of the topology; every setting of the stack file stays."""
    update: dict[str, Any] = {"services": dict(settings.services), "nodes": dict(settings.nodes)}
    projects = dict(settings.projects.overrides)
    for path, model, value in _models(whole):
        made: Any = model.model_validate_json(yaml_reader.to_json(value))
        match path:
            case ("projects", name):
                given = projects.get(name, ProjectOverride())
                projects[name] = given.model_copy(update={"options": _options(made.options, given.options)})
            case ("services", name):
                override = settings.services.get(name, Override())
                options = _options(made.options, override.options)
                update["services"][name] = override.model_copy(update={"options": options})
            case ("nodes", name):
                update["nodes"][name] = _node(settings, name, made)
            case ("bootstrap" | "ceph" | "ingress" as name,):
                update[name] = getattr(settings, name) or made
            case _:
                pass
    update["projects"] = settings.projects.model_copy(update=projects)
    update["networks"] = _networks(settings, whole)
    return settings.model_copy(update=update)


def _options(made: Options, given: Options) -> Options:
    """Returns options of the topology with those of the stack file, which have precedence."""
    files: Options = {file: {**sections} for file, sections in given.items()}
    for file, sections in made.items():
        for section, values in sections.items():
            own = files.setdefault(file, {})
            own[section] = values | own.get(section, {})
    return files


def _node(settings: Settings, name: str, made: NodeOverride) -> NodeOverride:
    """Returns the settings of a node. A pattern of the stack file has precedence, because '[' sorts after digits."""
    given = settings.nodes.get(name, NodeOverride())
    services = dict(given.services)
    for service, override in made.services.items():
        own = services[service].options if service in services else {}
        services[service] = NodeServiceOverride(options=_options(override.options, own))
    return NodeOverride(
        services=services, interfaces=made.interfaces | given.interfaces, sriov=made.sriov | given.sriov
    )


def _networks(settings: Settings, whole: Tree) -> Networks:
    made: Tree = whole.get("networks", {})
    given = settings.networks.model_fields_set
    update: dict[str, Any] = {}
    if "physical" in made and "physical" not in given:
        update["physical"] = {
            name: PhysicalNetwork.model_validate_json(yaml_reader.to_json(value))
            for name, value in made["physical"].items()
        }
    if "distributedRouters" in made and "distributed_routers" not in given:
        update["distributed_routers"] = made["distributedRouters"]
    return settings.networks.model_copy(update=update) if update else settings.networks
