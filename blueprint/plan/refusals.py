"""Refuses services that a stack cannot have, or that its file sets in a way that its architecture does not allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint import replicas
from blueprint.architecture.model import Architecture, Row
from blueprint.openstack.projects.process_definition import Resources
from blueprint.openstack.projects.records import Records
from blueprint.plan.companions import beside_rows
from blueprint.plan.layout import ServicePlan
from blueprint.problems import Problem
from blueprint.stackfile import further_clusters
from blueprint.stackfile.ceph_settings import CEPH_SERVICES
from blueprint.stackfile.features import ASKED_WITH
from blueprint.stackfile.settings import Settings
from text.suggestion import did_you_mean


def unknown_services(settings: Settings, architecture: Architecture, sizes: Mapping[str, Resources]) -> list[Problem]:
    """Returns a problem for each row of a user's own architecture whose service Quorate cannot build."""
    known = sorted(sizes.keys() - beside_rows(settings.records).keys())
    return [
        Problem(
            f"quorate:architecture ({architecture.name}, row '{row.row}')",
            f"there is no service '{row.service}'{did_you_mean(row.service, known)}; write one of: {', '.join(known)}",
        )
        for row in architecture.rows
        if not row.replaced_by and row.service not in known
    ]


def service_problems(settings: Settings, architecture: Architecture) -> Iterator[Problem]:
    """Yields a problem for each key of `quorate:services` that is not a service, or whose replicas cannot be chosen."""
    rows: Mapping[str, Row] = {row.service: row for row in architecture.rows}
    beside = beside_rows(settings.records)
    for name, override in settings.services.items():
        key = f"quorate:services.{name}"
        if override.definition:
            continue  # further_clusters.problems checks it
        if settings.external_ceph and name in CEPH_SERVICES:
            continue  # external_ceph.problems reports it
        process = further_clusters.process(settings, name)
        companion = beside.get(process)
        if (companion is None or companion.of not in rows) and name not in rows:
            yield Problem(key, _unknown(name, rows, settings.records))
        elif name in rows and (successor := rows[name].replaced_by):
            yield Problem(key, f"is retired; write {successor}, which replaces it")
        elif override.replicas is not None and (wrong := replicas.refusal(process, rows, settings.records)):
            yield Problem(f"{key}.replicas", wrong)


def clusters_without_row(settings: Settings, running: Sequence[ServicePlan]) -> Iterator[Problem]:
    """Yields a problem for each additional cluster in the stack file if the stack has no service of the kind."""
    there = {process.name for process in running}
    for name, kind in further_clusters.all_named(settings).items():
        if name not in there:
            advice = "add it to the architecture or the topology, or remove this"
            yield Problem(f"quorate:services.{name}", f"the stack has no {kind.definition}; {advice}")


def processes_without_row(settings: Settings, architecture: Architecture) -> Iterator[Problem]:
    """Yields a problem for each process of the stack's own projects that would run nowhere."""
    rows = [row.service for row in architecture.rows if not row.replaced_by]
    for name, process in settings.records.processes.items():
        if file := settings.records.added_file(name):
            needed = process.companion.of if process.companion else name
            if needed not in rows:
                advice = "add the row" if process.companion else "write companion: {of: …, order: …}, or add the row"
                yield Problem(f"{file} ({name})", f"architecture {architecture.name} has no row for {needed}; {advice}")


def _unknown(name: str, rows: Mapping[str, Row], records: Records) -> str:
    """Returns the message for a service that is neither a row of the architecture nor a companion."""
    from blueprint.plan.topology_services import refusal  # noqa: PLC0415 - pydantic's models, where they are needed

    if feature := records.without.get(name):
        return f"is only in stacks that ask for it; write {ASKED_WITH[feature]} too"
    if project := records.unasked(name):
        return f"is a service of {project}, which the stack does not have; write quorate:projects.{project}: {{}} too"
    known = sorted({*rows, *(name for name, beside in beside_rows(records).items() if beside.of in rows)})
    return refusal(name, records) or f"no such service{did_you_mean(name, known)}; write one of: {', '.join(known)}"
