"""Reads the records of the OpenStack projects: accounts, databases, APIs and configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from blueprint import yaml_file
from blueprint.model_errors import expected, location
from blueprint.problems import InvalidStackError, Problem, shown
from blueprint.source import Count, DataModel, Text
from files import yaml_reader
from text.suggestion import did_you_mean

FOLDER = Path(__file__).parent
VERSION = 1
"""Version of the records' form, raised with every incompatible change."""

DnsLabel = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]


class ApiRecord(DataModel):
    """A process with an API that clients of the cloud use."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """TCP port of the process's Service."""
    subdomain: DnsLabel
    """Subdomain of the stack's domain by which clients outside of the cluster reach the process. Those of Fuel-CCP
    (source 004, 1.6.2); Quorate adds placement and cloudformation."""


class ProjectRecord(DataModel):
    """The facts of one project."""

    version: Literal[1]
    title: Text
    order: Count
    """Position among the projects in lists and in rendered files. It must not change: rendered files would."""
    databases: tuple[Text, ...] = ()
    """Names of the project's databases. The account that owns them has the project's name."""
    messaging: bool = False
    """Whether the project has a vhost of its own for calls, and an account for the vhost of notifications."""
    identity: bool = False
    """Whether the password of the project's account in Keystone can be replaced while services run; `fixed_secrets`
    has the reason if it cannot."""
    cache_key: bool = False
    """Whether the project encrypts cached tokens with a key of its own."""
    fixed_secrets: dict[Text, Text] = Field(default={})
    """Secrets that cannot be replaced while the services run, by name (such as heat/domain), each with the reason."""
    apis: dict[Text, ApiRecord] = Field(default={})
    """Processes with an API that clients use, by name."""
    options: dict[Text, tuple[Text, ...]] = Field(default={})
    """Configuration files whose options the stack file may set, with the namespaces of oslo-config-generator that list
    them. The first namespace is the project's own and must exist; others are skipped if a release lacks them."""

    @property
    def accounts(self) -> tuple[str, ...]:
        """Kinds of accounts whose passwords can be replaced: two generations of such an account can exist."""
        kinds = {
            "database": bool(self.databases),
            "messaging": self.messaging,
            "notifications": self.messaging,
            "identity": self.identity,
        }
        return tuple(kind for kind, is_there in kinds.items() if is_there)

    @model_validator(mode="after")
    def _options_have_namespaces(self) -> ProjectRecord:
        if empty := [file for file, namespaces in self.options.items() if not namespaces]:
            raise ValueError(f"options.{empty[0]} has no namespace; write that of the project, such as nova.conf")
        return self


@cache
def records() -> Mapping[str, ProjectRecord]:
    """Returns the record of each project by name, in the order of the records.

    Raises InvalidStackError, with every problem of every record, if one is invalid.
    """
    found, problems = read(FOLDER)
    if problems:
        raise InvalidStackError(problems)
    return found


def read(folder: Path) -> tuple[Mapping[str, ProjectRecord], list[Problem]]:
    """Reads the records in a folder. Returns the valid ones by name, in order, and the problems of the others."""
    found: dict[str, ProjectRecord] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            content = yaml_file.read(path, "the record of a project (blueprint/openstack/projects/record.py)")
            # Through JSON, because strict mode accepts a list for a tuple only in JSON input.
            found[path.stem] = ProjectRecord.model_validate_json(yaml_reader.to_json(content))
        except InvalidStackError as error:
            problems += error.problems
        except ValidationError as error:
            problems += [_problem(path, each) for each in error.errors(include_url=False)]
    ordered = dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
    return ordered, [*problems, *_twice(folder, ordered)]


def _problem(path: Path, error: ErrorDetails) -> Problem:
    where = ".".join(map(str, location(error)))
    key = f"{path} ({where})" if where else str(path)
    if error["type"] == "missing":
        return Problem(key, "is missing; every record needs it")
    if error["type"] == "extra_forbidden":
        known = ProjectRecord.model_fields if len(error["loc"]) == 1 else ApiRecord.model_fields
        return Problem(key, f"is not a key of a record{did_you_mean(str(error['loc'][-1]), known)}; remove it")
    if error["type"] == "value_error":
        return Problem(key, error["msg"].removeprefix("Value error, "))
    return Problem(key, f"{shown(error['input'])} does not fit; write {expected(error)}")


def _twice(folder: Path, found: Mapping[str, ProjectRecord]) -> list[Problem]:
    """Returns a problem for each position, process, subdomain, database and secret that two records claim."""
    owners: dict[tuple[str, object], str] = {}
    problems: list[Problem] = []
    for name, record in found.items():
        claims: list[tuple[str, object]] = [
            ("order", record.order),
            *(("database", database) for database in record.databases),
            *(("process", process) for process in record.apis),
            *(("subdomain", api.subdomain) for api in record.apis.values()),
            *(("secret", secret) for secret in record.fixed_secrets),
        ]
        for kind, value in claims:
            if other := owners.get((kind, value)):
                problems.append(
                    Problem(str(folder / f"{name}.yaml"), f"{kind} {value} is that of {other} already; write another")
                )
            owners.setdefault((kind, value), name)
    return problems
