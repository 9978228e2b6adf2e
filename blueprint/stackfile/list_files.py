"""Reads lists that a stack file names by a path: `quorate:servers: own/servers.yaml`, or `vms: own/vms.json`.

Pulumi passes a stack's configuration to programs in one environment variable, which Linux limits to 128 KiB; a long
list of servers does not fit. Fuel had the list of virtual machines as a JSON document of its own (source 000, Data
model impact). JSON is read as YAML. The list replaces its path before the stack file is checked, so that the same
checks and messages apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic_core import PydanticCustomError

from blueprint import yaml_file
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile.values import project_path

SERVERS = "servers"
_VMS = "vms"
_SERVERS_FORM = "a list of servers such as [{name: ctl1, address: 10.20.0.31, …}]"
_VMS_FORM = "a list of virtual machines such as [{id: 0, cpu: 2, ram: 4, …}]"


def inlined(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a stack file, as plain data, with the lists of the files that it names.

    Raises InvalidStackError, with every reason, if such a file cannot be used.
    """
    servers = raw.get(SERVERS)
    if isinstance(servers, str):
        servers = _read(servers, f"quorate:{SERVERS}", _SERVERS_FORM)
    if not isinstance(servers, list):
        return dict(raw)
    found: list[Any] = []
    problems: list[Problem] = []
    for index, server in enumerate(cast("list[Any]", servers)):
        path = cast("dict[str, Any]", server).get(_VMS) if isinstance(server, dict) else None
        if isinstance(path, str):
            try:
                found.append({**server, _VMS: _read(path, f"quorate:{SERVERS}[{index}].{_VMS}", _VMS_FORM)})
            except InvalidStackError as error:
                problems += error.problems
        else:
            found.append(server)
    if problems:
        raise InvalidStackError(problems)
    return {**raw, SERVERS: found}


def _read(path: str, key: str, form: str) -> list[Any]:
    try:
        return yaml_file.read_list(Path(project_path(path)), form)
    except PydanticCustomError as error:
        raise InvalidStackError([Problem(key, error.message())]) from None
    except InvalidStackError as error:
        raise InvalidStackError([Problem(key, f"{each.key} {each.message}") for each in error.problems]) from None
