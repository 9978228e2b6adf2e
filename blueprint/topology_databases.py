"""Adds the databases that a Fuel-CCP topology gives to single projects to the settings of a stack.

The stack then has these Galera clusters as if its stack file defined them (stackfile/further_clusters.py). Settings of
the stack file for a cluster or a project have precedence.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blueprint import replicas
from blueprint.problems import Problem
from blueprint.stackfile.further_clusters import GALERA
from blueprint.stackfile.settings import Override, ProjectOverride, Settings
from blueprint.topology import Databases, Placement, Topology, TopologyError, databases, place, read_topology

KEY = "quorate:topology"


def with_databases(settings: Settings, names: list[str]) -> Settings:
    """Returns the settings with the Galera clusters and mappings of their topology; unchanged if it is not valid.

    `names`: the nodes on which the topology may place services.
    """
    try:
        topology = read_topology(Path(settings.topology or ""), settings.records)
    except TopologyError:
        return settings  # topology_layout.py reports the errors
    placement = place(topology, names)
    found = of_topology(topology, placement)
    services, projects = dict(settings.services), dict(settings.projects.overrides)
    for name, placed in found.placed(placement).items():
        members = replicas.of_service(name, settings, laid=placed.replicas).count
        added = {"definition": GALERA.definition, "replicas": members}
        services[name] = services.get(name, Override()).model_copy(update=added)
    for project, name in found.projects.items():
        given = projects.get(project, ProjectOverride())
        projects[project] = given.model_copy(update={"mapping": {"database": name, **given.mapping}})
    return settings.model_copy(update={"services": services, "projects": settings.projects.model_copy(update=projects)})


def of_topology(topology: Topology, placement: Placement) -> Databases:
    """Returns the Galera clusters that a topology dedicates to single projects."""
    return databases(topology, placement, f"-{GALERA.definition}")


def problems(found: Databases) -> Iterator[Problem]:
    """Yields a problem for each project with several databases, and each Galera whose name a stack cannot have."""
    for finding in found.findings:
        yield Problem(f"{KEY} ({finding.key})", finding.message)
    for service, name in found.clusters.items():
        if not GALERA.name.fullmatch(name):
            advice = f"write up to {GALERA.longest} lower-case letters, digits and '-'"
            yield Problem(f"{KEY} (services.{service})", f"{service} is not a name for a further Galera; {advice}")
