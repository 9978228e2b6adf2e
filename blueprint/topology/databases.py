"""Finds the databases that a topology gives to single projects: Galera clusters beside the stack's own.

In Fuel-CCP (CCP), `services` gives a Galera a name, and `mapping: {database: NAME}` of a service makes it the database
of that service. In Quorate, all services of a project share their database. So a project uses the Galera to which its
services are mapped, and a project without a mapping uses the stack's own, which in CCP has the name `database`, or
that of the project whose nodes its process uses (`follows` in the record).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from blueprint.topology.definitions import Catalogue
from blueprint.topology.shapes import Placement, ServicePlacement, Topology, TopologyFinding

DATABASE = "database"


@dataclass(frozen=True)
class Databases:
    """The Galera clusters of a topology beside the stack's own."""

    clusters: Mapping[str, str]
    """Maps each service of the topology that is such a cluster to the cluster's name in the stack."""
    projects: Mapping[str, str]
    """Maps projects to the cluster with their databases, by its name in the stack, if it is not the stack's own."""
    findings: tuple[TopologyFinding, ...]

    def placed(self, placement: Placement) -> Mapping[str, ServicePlacement]:
        """Returns the placements of the clusters, by the cluster's name in the stack."""
        return {name: placement.services[service] for service, name in self.clusters.items()}

    def others(self, placement: Placement) -> Placement:
        """Returns the placement without the clusters."""
        rest = {name: placed for name, placed in placement.services.items() if name not in self.clusters}
        return replace(placement, services=rest)


def databases(topology: Topology, placement: Placement, ending: str) -> Databases:
    """Returns the Galera clusters that a topology gives to single projects.

    `ending`: the ending of names of such clusters in a stack, such as -mysqld.
    """
    known = [name for name, placed in placement.services.items() if _is_database(placed.definition, topology.known)]
    mapped = _mapped(topology, placement)
    findings = tuple(_disagreements(mapped))
    targets = {project: next(iter(by_target)) for project, by_target in mapped.items()}
    for project, other in topology.known.projects_follow.items():
        if project not in targets and other in targets:
            targets[project] = targets[other]
    # Without a service `database`, a Galera under its own name is used in its place, as in topologies of 2016.
    own = min(known, key=lambda name: (name != DATABASE, name not in topology.known.services), default=None)
    clusters = {
        name: name if name.endswith(ending) else f"{name}{ending}"
        for name in known
        if name in targets.values() and name != own
    }
    projects = {project: clusters[target] for project, target in targets.items() if target in clusters}
    return Databases(clusters, projects, findings)


def _is_database(definition: str, known: Catalogue) -> bool:
    return known.services[definition].quorum == DATABASE and known.architecture_service(definition) is not None


def _mapped(topology: Topology, placement: Placement) -> Mapping[str, Mapping[str, list[str]]]:
    """Returns the databases to which each project is mapped, each with the services that are mapped to it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, placed in placement.services.items():
        named = topology.services.get(name)
        target = named.mapping.get(DATABASE) if named else None
        if target and (project := topology.known.projects.get(placed.definition)):
            found[project][target].append(name)
    return found


def _disagreements(mapped: Mapping[str, Mapping[str, list[str]]]) -> Iterator[TopologyFinding]:
    for project, by_target in mapped.items():
        if len(by_target) > 1:
            where = "; ".join(f"{', '.join(names)} to {target}" for target, names in by_target.items())
            message = f"all services of {project} share one database, and they are mapped to several: {where}"
            first = next(iter(by_target.values()))[0]
            key = f"services.{first}.mapping.{DATABASE}"
            yield TopologyFinding("several-databases", "error", key, f"{message}; map them to the same one")
