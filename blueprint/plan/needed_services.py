"""Checks that the stack has the services that its other services cannot be configured without."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from blueprint.openstack.projects.records import Records
from blueprint.problems import Problem


def problems(key: str, services: Collection[str], records: Records) -> Iterator[Problem]:
    """Yields a problem for each service that the stack lacks although others of its services need it.

    `key`: the key of the stack file that names the services of the stack. `services`: the services that run.
    `records`: the records of the stack's projects.
    """
    for needed in records.processes:
        if needed not in services:
            others = (name for name, process in records.processes.items() if needed in process.configured_with)
            if present := [name for name in others if name in services]:
                text = f"{', '.join(present)} cannot be configured without {needed}; add {needed}, or remove them"
                yield Problem(key, text)
