"""Reads the built-in data of Fuel-CCP (CCP): its service definitions and default configuration keys.

The data are in ccp_services.yaml and in the projects' records, extracted from Fuel-CCP's archived repositories. They
also map CCP's names of services to the rows of the reference architectures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from blueprint.openstack.projects.ccp import CcpService
from blueprint.openstack.projects.records import records
from blueprint.topology.shapes import Placement, ServicePlacement
from files import yaml_reader

_DATA = Path(__file__).parent / "ccp_services.yaml"
_FOLLOWS = {"placement-api": "nova-api"}
"""Maps rows without a service in CCP to the row whose nodes they use. In CCP, placement was part of nova-api."""

ByRow = Mapping[str, Mapping[str, ServicePlacement]]
"""Maps the service of a row to those services of a topology that belong to the row, by their names in the file."""


class Catalogue(BaseModel):
    """CCP's service definitions and configuration keys: those of ccp_services.yaml and of the projects' records."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    services: Mapping[str, CcpService]
    abstractions: Mapping[str, tuple[str, ...]]
    sections: tuple[str, ...]
    configs: Mapping[object, object]


@cache
def catalogue() -> Catalogue:
    """Returns all that is known of CCP; the files are read only once."""
    found = Catalogue.model_validate(yaml_reader.load(_DATA.read_text(encoding="utf-8")))
    services = dict(found.services)
    for record in records().values():
        services |= record.ccp
    return found.model_copy(update={"services": dict(sorted(services.items()))})


def architecture_service(name: str) -> str | None:
    """Returns the service of the reference architectures' row that a CCP service belongs to; None if there is no row.

    `name`: the name of a definition (`galera`) or of an abstraction (`database`). For a service with a name that the
    operator chose (`keystone-db`), pass `ServicePlacement.definition`.
    """
    known = catalogue()
    behind = known.abstractions.get(name, (name,))[0]
    definition = known.services.get(behind)
    return definition.architecture if definition else None


def companions_of(placement: Placement) -> ByRow:
    """Groups a topology's services that Quorate runs as companions of a row, by the companion's name."""
    found: dict[str, dict[str, ServicePlacement]] = defaultdict(dict)
    for name, placed in placement.services.items():
        if catalogue().services[placed.definition].companion:
            found[placed.definition][name] = placed
    return found


def by_row(placement: Placement) -> ByRow:
    """Groups a topology's services by row of the architecture. CCP's rpc and notifications both belong to RabbitMQ."""
    rows: dict[str, dict[str, ServicePlacement]] = defaultdict(dict)
    for name, placed in placement.services.items():
        if row := architecture_service(placed.definition):
            rows[row][name] = placed
    return {**{row: rows[leader] for row, leader in _FOLLOWS.items() if leader in rows}, **rows}
