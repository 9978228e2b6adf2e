"""Reads the records of the OpenStack projects. Every list of facts about projects is derived from them.

What cannot be data (jobs, and the content of configuration files) is in openstack/projects/<name>.py.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint import yaml_file
from blueprint.model_errors import expected, location
from blueprint.openstack.projects import process_definition as forms
from blueprint.openstack.projects import record_checks
from blueprint.openstack.projects.ccp import CcpService
from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.openstack.projects.project_record import Endpoint, ProjectRecord
from blueprint.problems import InvalidStackError, Problem, shown
from files import yaml_reader
from text.suggestion import did_you_mean

FOLDER = Path(__file__).parent
_FORM = "the record of a project (docs/openstack.md)"


@cache
def records() -> Mapping[str, ProjectRecord]:
    """Returns the record of each project by name, in the order of the records.

    Raises InvalidStackError, with every problem of every record, if one is invalid.
    """
    found, problems = read(FOLDER, are_own=True)
    if problems:
        raise InvalidStackError(problems)
    return found


@cache
def processes() -> Mapping[str, ProcessDefinition]:
    """Returns the processes of all projects by name, each after those of the projects that its project needs."""
    return {each.name: each for record in by_needs(records()).values() for each in record.processes}


def port(process_name: str, name: str) -> int:
    """Returns the number of a port on which a process's containers listen, by the port's name."""
    return next(each.number for each in processes()[process_name].ports if each.name == name)


def by_needs(found: Mapping[str, ProjectRecord]) -> Mapping[str, ProjectRecord]:
    """Returns records so that each comes after those that it needs, otherwise in their order. No circle may exist."""
    sorter = TopologicalSorter({name: record.needs for name, record in found.items()})
    sorter.prepare()
    free: list[tuple[int, str]] = []
    result: dict[str, ProjectRecord] = {}
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(free, (found[name].order, name))
        _, name = heapq.heappop(free)
        result[name] = found[name]
        sorter.done(name)
    return result


def read(folder: Path, *, are_own: bool = False) -> tuple[Mapping[str, ProjectRecord], list[Problem]]:
    """Reads the records in a folder. Returns the valid ones by name, in order, and the problems of the others.

    `are_own`: whether the files are Quorate's own, of which its tests know that they are YAML without pitfalls.
    """
    found: dict[str, ProjectRecord] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            content = yaml_reader.load_own(path.read_text(encoding="utf-8")) if are_own else yaml_file.read(path, _FORM)
            # Through JSON, because strict mode accepts a list for a tuple only in JSON input.
            record = ProjectRecord.model_validate_json(yaml_reader.to_json(content))
        except InvalidStackError as error:
            problems += error.problems
        except ValidationError as error:
            problems += [_problem(path, each) for each in error.errors(include_url=False)]
        else:
            problems += [Problem(_key(path, key), text) for key, text in record_checks.faults(record)]
            if record.name == path.stem:
                found[path.stem] = record
            else:
                problems.append(Problem(_key(path, "name"), f"'{record.name}' is not the file's; write {path.stem}"))
    ordered = dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
    if not problems:  # otherwise a record that others refer to may be left out
        shared = record_checks.shared_faults(ordered)
        problems = [Problem(_key(folder / f"{name}.yaml", key), text) for name, key, text in shared]
    return ordered, problems


def _key(path: Path, key: str) -> str:
    return f"{path} ({key})" if key else str(path)


def _problem(path: Path, error: ErrorDetails) -> Problem:
    # pydantic puts the kind of a probe into the path.
    where = [part for part in location(error) if part not in _PROBES]
    key = _key(path, ".".join(map(str, where)))
    if error["type"] == "missing":
        return Problem(key, "is missing; add it")
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        parents = [part for part in error["loc"][:-1] if isinstance(part, str)]
        hint = did_you_mean(str(error["loc"][-1]), tuple(_keys(parents)))
        return Problem(key, f"is not a key of a record{hint}; remove it")
    return Problem(key, f"{shown(error['input'])} does not fit; write {expected(error)}")


_PROBES: Mapping[str, Any] = {"http": forms.Http, "tcp": forms.Tcp, "exec": forms.Exec, "connection": forms.Connection}
_FORMS: Mapping[str, Any] = {
    **_PROBES,
    "endpoints": Endpoint,
    "ccp": CcpService,
    "processes": ProcessDefinition,
    "containers": forms.Container,
    "ports": forms.Port,
    "files": forms.ConfigurationFile,
    "host_paths": forms.HostPath,
    "sizes": forms.Sizes,
    "production": forms.Resources,
    "lab": forms.Resources,
    "companion": forms.Companion,
}
"""The form of what is below a key of a record."""


def _keys(parents: list[str]) -> Iterator[str]:
    """Yields the keys that a record knows below the keys `parents`."""
    form = next((_FORMS[name] for name in reversed(parents) if name in _FORMS), ProjectRecord)
    if dataclasses.is_dataclass(form):
        yield from (field.name for field in dataclasses.fields(form))
    else:
        yield from form.model_fields
