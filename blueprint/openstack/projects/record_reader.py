"""Reads the records of projects in a folder: all of them are checked, and all their problems are reported at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
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
from blueprint.openstack.projects.project_record import VERSION, Endpoint, ProjectRecord
from blueprint.problems import InvalidStackError, Problem, shown
from files import yaml_reader
from text.suggestion import did_you_mean

_FORM = "the record of a project (docs/records.md)"


def read(
    folder: Path, *, own: Mapping[str, ProjectRecord] | None = None, is_plain: bool = False
) -> tuple[Mapping[str, ProjectRecord], list[Problem]]:
    """Reads the records in a folder. Returns the valid ones by name, in order, and the problems of all.

    `own`: Quorate's records, if the folder has those of a stack's own projects; None if it has Quorate's.
    `is_plain`: whether the files are known to be YAML without pitfalls, as Quorate's tests know of its own.
    """
    problems: list[Problem] = []
    found: dict[str, ProjectRecord] = {}
    paths = sorted(folder.glob("*.yaml"))
    for path in paths:
        record, wrong = _record(path, is_plain=is_plain)
        problems += wrong
        if record:
            others = record_checks.stack_faults(record, own) if own is not None else ()
            faults = (*record_checks.faults(record), *others)
            problems += [Problem(_key(path, key), text) for key, text in faults]
            found[record.name] = record
    ordered = dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
    if not own or own.keys().isdisjoint(found):
        together = {**(own or {}), **ordered}
        # A record that others refer to may be among those that could not be read.
        shared = record_checks.shared_faults if len(found) == len(paths) else record_checks.claimed_twice
        problems += [Problem(_key(folder / f"{name}.yaml", key), text) for name, key, text in shared(together)]
    return ordered, problems


def _record(path: Path, *, is_plain: bool) -> tuple[ProjectRecord | None, list[Problem]]:
    """Returns the record in a file, and the problems of its form."""
    try:
        content = yaml_reader.load_own(path.read_text(encoding="utf-8")) if is_plain else yaml_file.read(path, _FORM)
        # Through JSON, because strict mode accepts a list for a tuple only in JSON input.
        record = ProjectRecord.model_validate_json(yaml_reader.to_json(content))
    except InvalidStackError as error:
        return None, list(error.problems)
    except ValidationError as error:
        return None, [_problem(path, each) for each in error.errors(include_url=False)]
    if record.name != path.stem:
        return None, [Problem(_key(path, "name"), f"'{record.name}' is not the file's; write {path.stem}")]
    return record, []


def _key(path: Path, key: str) -> str:
    return f"{path} ({key})" if key else str(path)


def _problem(path: Path, error: ErrorDetails) -> Problem:
    # pydantic puts the kind of a probe into the path.
    where = [part for part in location(error) if part not in _PROBES]
    key = _key(path, ".".join(map(str, where)))
    if error["type"] == "missing":
        return Problem(key, "is missing; add it")
    if where == ["version"] and isinstance(given := error["input"], int) and given > VERSION:
        return Problem(key, f"{given} is the form of a later Quorate, and this one reads {VERSION}; update Quorate")
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
