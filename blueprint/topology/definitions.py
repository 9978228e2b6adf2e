"""Reads the built-in data of Fuel-CCP (CCP): its service definitions and default configuration keys.

The data are in ccp_services.yaml and in the projects' records, extracted from Fuel-CCP's archived repositories. They
also map CCP's names of services to the rows of the reference architectures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from blueprint.openstack.projects.ccp import CcpService
from blueprint.openstack.projects.records import Records
from files import yaml_reader

_DATA = Path(__file__).parent / "ccp_services.yaml"


class Catalogue(BaseModel):
    """CCP's service definitions and configuration keys: those of ccp_services.yaml and of the projects' records."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    services: Mapping[str, CcpService]
    abstractions: Mapping[str, tuple[str, ...]]
    sections: tuple[str, ...]
    configs: Mapping[object, object]
    projects: Mapping[str, str] = {}
    """The project that stands for a service, by the service; services of no project are left out."""
    follows: Mapping[str, str] = {}
    """Rows without a service in CCP, each with the row whose nodes they use."""
    projects_follow: Mapping[str, str] = {}
    """The projects of these rows, each with the project of the row that it follows."""

    def architecture_service(self, name: str) -> str | None:
        """Returns the service of the reference architectures' row that a CCP service belongs to; None without a row.

        `name`: the name of a definition (`galera`) or of an abstraction (`database`). For a service with a name that
        the operator chose (`keystone-db`), pass `ServicePlacement.definition`.
        """
        behind = self.abstractions.get(name, (name,))[0]
        definition = self.services.get(behind)
        return definition.architecture if definition else None


@cache
def catalogue(records: Records) -> Catalogue:
    """Returns all that is known of CCP, with what the records of a stack's projects add."""
    found = Catalogue.model_validate(yaml_reader.load(_DATA.read_text(encoding="utf-8")))
    services, projects = dict(found.services), dict[str, str]()
    for name, record in records.by_name.items():
        services |= record.ccp
        projects |= dict.fromkeys(record.ccp, name)
    follows = {name: process.follows for name, process in records.processes.items() if process.follows}
    return found.model_copy(
        update={
            "services": dict(sorted(services.items())),
            "projects": projects,
            "follows": follows,
            "projects_follow": {records.project_of(name): records.project_of(row) for name, row in follows.items()},
        }
    )
