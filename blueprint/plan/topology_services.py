"""Checks whether a stack can run the services of a Fuel-CCP topology, and rejects those that Quorate cannot build.

The definition of each service of Fuel-CCP (CcpService) contains the architecture's row, or the row whose pods include
the service, or the agents that do its work, or the note that no stack needs it, or that Quorate cannot build it yet. A
service that is not built is rejected, because the stack would lack it without a message.
"""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.architecture.model import Architecture
from blueprint.openstack.projects.records import Records
from blueprint.plan.companions import beside_rows
from blueprint.problems import Problem
from blueprint.stackfile.ceph_settings import CEPH_SERVICES
from blueprint.stackfile.features import ASKED_WITH
from blueprint.stackfile.settings import Settings
from blueprint.topology import Placement, Topology, TopologyFinding, by_row, companions_of, left_out
from blueprint.topology.definitions import catalogue
from blueprint.topology.validate import asks_for

KEY = "quorate:topology"
_STORES = {"glance-api": ("glance", "glance-api.conf"), "cinder-volume": ("cinder", "cinder.conf")}
"""Services whose data is in Ceph unless the option DEFAULT.enabled_backends names another store: project and file."""
_WITHOUT_CEPH = {
    "glance": "keeps images in the file system of its pod, as Fuel-CCP does: a topology places no Ceph, several pods "
    "do not share these images, and they are lost with the pod",
    "cinder": "stores in Ceph, which a topology does not place",
}
"""What becomes of a project's data in a stack without Ceph."""


def refusal(name: str, records: Records) -> str | None:
    """Returns why a stack cannot have the Fuel-CCP service `name`; None if it can, or if the name is unknown."""
    definition = catalogue(records).services.get(name)
    if definition and definition.not_built:
        return f"is not built yet; remove it: {definition.not_built}"
    if definition and definition.not_needed:
        return f"is not needed; remove it: {definition.not_needed}"
    if definition and definition.agents:
        return f"is not needed; remove it: {', '.join(definition.agents)} run on every node"
    if definition and definition.use_instead:
        return f"is retired upstream; remove it and use {definition.use_instead}"
    return None


def problems(
    topology: Topology, placement: Placement, architecture: Architecture, settings: Settings
) -> Iterator[Problem]:
    """Yields a problem for each service in the topology that the stack would lack, on all or some of its nodes."""
    rows, beside = by_row(placement), beside_rows(settings.records)
    known = {row.service for row in architecture.rows}
    for name, placed in placement.services.items():
        definition = placement.known.services[placed.definition]
        said = name if name == placed.definition else f"{name} ({placed.definition})"
        if definition.not_built:
            text = f"{said} is not built yet; remove it from the topology: {definition.not_built}"
            yield Problem(_key(topology, name), text)
        elif settings.external_ceph and definition.architecture in CEPH_SERVICES:
            advice = "for its gateway, write quorate:ceph.external.objectStore"
            yield Problem(_key(topology, name), f"{said} is not run with an external Ceph; remove it: {advice}")
        elif definition.architecture and definition.architecture not in known:
            text = f"architecture {architecture.name} has no row for {said}; add one, or remove {name}"
            yield Problem(_key(topology, name), text)
        elif feature := settings.records.without.get(placed.definition):
            if definition.asked_by and asks_for(topology, definition.asked_by):
                continue  # what is wrong with it is a finding of its key
            here = f"configs.{definition.asked_by}: true here, or " if definition.asked_by else ""
            text = f"{said} is only in stacks that ask for it; write {here}{ASKED_WITH[feature]} in the stack file"
            yield Problem(_key(topology, name), f"{text}, or remove {name}")
        elif definition.companion and (row := beside[placed.definition].of) not in known:
            text = f"architecture {architecture.name} has no row for {row}, which {said} accompanies; add one, or take"
            yield Problem(_key(topology, name), f"{text} {name} out")
        elif definition.beside:
            there = {host for whole in rows.get(definition.beside, {}).values() for host in whole.hosts}
            if alone := [host for host in placed.hosts if host not in there]:
                text = f"{said} runs on the nodes of {definition.beside} only, which {', '.join(alone)} does not carry"
                yield Problem(_key(topology, name), f"{text}; place both there, or neither")


def warnings(placement: Placement) -> Iterator[str]:
    """Yields the warnings of a topology, and a warning for services that Quorate runs as one service.

    Warnings about the placement of a service that Quorate does not run are omitted.
    """
    for finding in placement.findings:
        if finding.severity == "warning" and not is_about_absent(finding, placement):
            yield f"topology, {finding.key}: {finding.message}"
    for name, placed in placement.services.items():
        if reason := left_out(placement, placement.known.services[placed.definition]):
            yield f"topology: {name} is left out: {reason}"
    for row, services in (*by_row(placement).items(), *companions_of(placement).items()):
        if len(services) > 1 and row not in placement.known.follows:
            yield f"topology: {', '.join(services)} run as one service, {row}, on the nodes of all of them"


def store_warnings(settings: Settings, placement: Placement) -> Iterator[str]:
    """Yields a warning for each placed service that stores in Ceph, if the stack names none: no topology places one."""
    if settings.external_ceph:
        return
    for name, (project, file) in _STORES.items():
        holders = (settings.projects.overrides.get(project), settings.services.get(name))
        written = any("enabled_backends" in each.options.get(file, {}).get("DEFAULT", {}) for each in holders if each)
        if name in placement.services and not written:
            key = f"quorate:projects.{project}.options.{file}.DEFAULT.enabled_backends"
            yield f"topology: {name} {_WITHOUT_CEPH[project]}; write another store in {key}"


def _key(topology: Topology, service: str) -> str:
    roles = [role for role, services in topology.roles.items() if service in services]
    return f"{KEY} ({', '.join(f'roles.{role}' for role in roles)})"


def is_about_absent(finding: TopologyFinding, placement: Placement) -> bool:
    """Whether a finding is about placing a service that Quorate does not run, such as the etcd of CCP's Galera."""
    name = finding.key.partition(".")[2]
    placed = placement.services.get(name)
    definition = placement.known.services.get(placed.definition if placed else name)
    if definition is None:
        return False
    absent = definition.not_needed or definition.agents
    return bool(absent or (finding.rule == "unplaced-dependency" and definition.not_built))
