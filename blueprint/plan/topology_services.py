"""Checks whether a stack can run the services of a Fuel-CCP topology, and rejects those that Quorate cannot build.

The definition of each service of Fuel-CCP (CcpService) contains the architecture's row, or the row whose pods include
the service, or the note that Quorate cannot build it yet. Such a service is rejected, because the stack would lack it
without a message.
"""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.architecture.model import Architecture
from blueprint.openstack.projects.records import Records
from blueprint.plan.companions import beside_rows
from blueprint.problems import Problem
from blueprint.topology import Placement, Topology, TopologyFinding, by_row, companions_of
from blueprint.topology.definitions import Catalogue, catalogue

KEY = "quorate:topology"


def refusal(name: str, records: Records) -> str | None:
    """Returns why a stack cannot have the Fuel-CCP service `name`; None if it can, or if the name is unknown."""
    definition = catalogue(records).services.get(name)
    if definition and definition.not_built:
        return f"is not built yet; remove it: {definition.not_built}"
    if definition and definition.use_instead:
        return f"is retired upstream; remove it and use {definition.use_instead}"
    return None


def problems(
    topology: Topology, placement: Placement, architecture: Architecture, records: Records
) -> Iterator[Problem]:
    """Yields a problem for each service in the topology that the stack would lack, on all or some of its nodes."""
    rows, beside = by_row(placement), beside_rows(records)
    known = {row.service for row in architecture.rows}
    for name, placed in placement.services.items():
        definition = placement.known.services[placed.definition]
        said = name if name == placed.definition else f"{name} ({placed.definition})"
        if definition.not_built:
            text = f"{said} is not built yet; remove it from the topology: {definition.not_built}"
            yield Problem(_key(topology, name), text)
        elif definition.architecture and definition.architecture not in known:
            text = f"architecture {architecture.name} has no row for {said}; add one, or remove {name}"
            yield Problem(_key(topology, name), text)
        elif definition.companion and (row := beside[placed.definition].of) not in known:
            text = f"architecture {architecture.name} has no row for {row}, which {said} accompanies; add one, or take"
            yield Problem(_key(topology, name), f"{text} {name} out")
        elif definition.part_of:
            there = {host for whole in rows.get(definition.part_of, {}).values() for host in whole.hosts}
            if alone := [host for host in placed.hosts if host not in there]:
                text = f"{said} runs in the pods of {definition.part_of} only, which {', '.join(alone)} does not carry"
                yield Problem(_key(topology, name), f"{text}; place both there, or neither")


def warnings(placement: Placement) -> Iterator[str]:
    """Yields the warnings of a topology, and a warning for services that Quorate runs as one service.

    Warnings that advise placing a service which Quorate cannot build are omitted.
    """
    for finding in placement.findings:
        if finding.severity == "warning" and not _asks_for_unbuilt(finding, placement.known):
            yield f"topology, {finding.key}: {finding.message}"
    for row, services in (*by_row(placement).items(), *companions_of(placement).items()):
        if len(services) > 1:
            yield f"topology: {', '.join(services)} run as one service, {row}, on the nodes of all of them"


def _key(topology: Topology, service: str) -> str:
    roles = [role for role, services in topology.roles.items() if service in services]
    return f"{KEY} ({', '.join(f'roles.{role}' for role in roles)})"


def _asks_for_unbuilt(finding: TopologyFinding, known: Catalogue) -> bool:
    """Whether a finding advises placing a service that Quorate cannot build, such as the etcd of CCP's Galera."""
    needed = known.services.get(finding.key.removeprefix("roles."))
    return finding.rule == "unplaced-dependency" and needed is not None and needed.not_built is not None
