"""Reads the built-in data of Fuel-CCP (CCP): its service definitions and its configuration keys.

The data are in ccp_services.yaml, ccp_configs.yaml and the projects' records, extracted from Fuel-CCP's archived
repositories. They also map CCP's names of services to the rows of the reference architectures, and its configuration
keys to settings of a stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from blueprint.openstack.projects.ccp import CcpService
from blueprint.openstack.projects.process_definition import Container
from blueprint.openstack.projects.records import Records
from blueprint.topology.config_fates import ConfigFates
from files import yaml_reader

_DATA = Path(__file__).parent / "ccp_services.yaml"
_CONFIGS = Path(__file__).parent / "ccp_configs.yaml"


class Catalogue(BaseModel):
    """CCP's service definitions and configuration keys: those of the data files and of the projects' records."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    services: Mapping[str, CcpService]
    abstractions: Mapping[str, tuple[str, ...]]
    configs: ConfigFates
    """The keys under `configs`, with what they become in a stack."""
    projects: Mapping[str, str] = {}
    """The project that stands for a service, by the service; services of no project are left out."""
    follows: Mapping[str, str] = {}
    """Rows without a service in CCP, each with the row whose nodes they use."""
    projects_follow: Mapping[str, str] = {}
    """The projects of these rows, each with the project of the row that it follows."""
    agents: Mapping[str, str] = {}
    """The companions that run on every node, each with the row beside which it is planned."""
    files: Mapping[str, frozenset[str]] = {}
    """The configuration files that each process reads, by the process."""
    node_files: Mapping[str, frozenset[str]] = {}
    """Those of them whose options a process reads with the values of its node; other processes are left out."""

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
    data, configs = (yaml_reader.load(file.read_text(encoding="utf-8")) for file in (_DATA, _CONFIGS))
    found = Catalogue.model_validate({**data, "configs": configs})
    services, projects = dict(found.services), dict[str, str]()
    for name, record in {**records.by_name, **records.not_asked_for}.items():
        services |= record.ccp
        projects |= dict.fromkeys(record.ccp, name)
    follows = {name: process.follows for name, process in records.processes.items() if process.follows}
    return found.model_copy(
        update={
            "services": dict(sorted(services.items())),
            "projects": projects,
            "follows": follows,
            "projects_follow": {records.project_of(name): records.project_of(row) for name, row in follows.items()},
            "agents": {
                name: process.companion.of
                for name, process in records.processes.items()
                if process.companion and process.companion.every_node
            },
            "files": {name: _files(process.containers) for name, process in records.processes.items()},
            "node_files": {
                name: files
                for name, process in records.processes.items()
                if (files := _files(each for each in process.containers if each.node_values))
            },
        }
    )


def _files(containers: Iterable[Container]) -> frozenset[str]:
    return frozenset(file.name for container in containers for file in container.files)
