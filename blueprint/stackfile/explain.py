"""Converts pydantic's validation errors to problems of a stack file: key, error, and the text to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from blueprint.model_errors import expected, location
from blueprint.problems import Problem, shown
from blueprint.stackfile import backup_settings, ceph_settings, cloud_content, values
from blueprint.stackfile.reader import NAMESPACE
from blueprint.stackfile.settings import (
    KUBERNETES_VERSION,
    REGION_NAME,
    USER,
    VLANS,
    ProjectOverride,
    Projects,
    Settings,
)
from blueprint.stackfile.values import HOST, INTERFACE
from blueprint.stackfile.virt import CPUS
from text.suggestion import closest, did_you_mean, look_alike

_PATTERNS = {
    r"^20[0-9][0-9]\.[12]$": 'an OpenStack release such as "2026.1"',
    KUBERNETES_VERSION: 'a version of Kubernetes such as "1.37.2"',
    r"\S": "some text",
    REGION_NAME: "a name of up to 63 letters, digits, '-', '_' and '.', the first a letter or a digit",
    USER: "a user name of up to 32 lower-case letters, digits, '-', '_' and '.'",
    VLANS: "ranges of VLAN IDs such as 1001:1030 or 200:250,1001:1030",
    HOST: "a host name or an IPv4 address",
    r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$": "a rule's id as docs/rules.md has it, such as galera-size",
    r"^sha256:[0-9a-f]{64}$": "sha256: and 64 hexadecimal digits",
    INTERFACE: "a name of up to 15 letters, digits, '-', '_' and '.', the first a letter or a digit",
    CPUS: "numbers and ranges of CPUs such as 0-15 or 0-7,32-39",
    backup_settings.BUCKET: "a name of 3 to 63 lower-case letters, digits, '-' and '.'",
    backup_settings.ENDPOINT: "an address such as https://s3.example.org, without a path or a password",
    backup_settings.PREFIX: "a name of up to 63 letters, digits, '-', '_' and '.', the first a letter or a digit",
    backup_settings.REGION: "the name of a region such as eu-central-1",
    ceph_settings.FSID: "the cluster's identifier as 'ceph fsid' prints it, a UUID in lower case",
    ceph_settings.CEPH_NAME: "a name of up to 128 letters, digits, '-', '_' and '.', the first a letter or a digit",
    ceph_settings.OBJECT_STORE_URL: "an address such as https://rgw.example/swift/v1/AUTH_%(project_id)s",
    cloud_content.SHA256: "64 hexadecimal digits in lower case",
    cloud_content.URL: "an address that begins with http:// or https:// and holds no password",
    cloud_content.FLAVOR_NAME: "a name of up to 255 printable characters, without spaces at its ends",
    cloud_content.EXTRA_SPEC: "up to 255 letters, digits, ':', '-', '.', '_' and spaces, such as hw:cpu_policy",
    cloud_content.NAME: "a name of up to 255 letters, digits, '-', '.', '_' and inner spaces",
}


def path(error: ErrorDetails) -> str:
    """Returns the key in the stack file that an error is about, such as `quorate:servers[2].vms[0].ram`."""
    return key_of(location(error), {})


def causes(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Returns pydantic's errors without those that only follow from another error.

    Pydantic also reports a list whose only entry is invalid as too short, and a misspelled key as missing.
    """
    unknown = [location(error) for error in errors if error["type"] == "extra_forbidden"]
    wrong = {location(error)[:end] for error in errors for end in range(len(location(error)))}

    def follows(error: ErrorDetails) -> bool:
        loc = location(error)
        if error["type"] == "missing":
            near = [str(other[-1]) for other in unknown if other[:-1] == loc[:-1]]
            return any(closest(word, _fields_at(loc[:-1])) == loc[-1] for word in near)
        return error["type"] == "too_short" and loc in wrong

    return [error for error in errors if not follows(error)]


def problem(error: ErrorDetails, raw: Mapping[str, Any]) -> Problem:
    """Converts one pydantic error to a Problem. `raw`: the complete settings, for the names of servers in the key."""
    loc = location(error)
    key = key_of(loc, raw)
    kind = error["type"]
    if kind == "extra_forbidden":
        return Problem(key, _unknown(str(loc[-1]), _fields_at(loc[:-1])))
    if kind == "missing":
        return Problem(key, f"is missing{_misspelt(error)}; write it{_described(loc)}")
    if kind == values.ERROR:
        return Problem(key, error["msg"])
    if kind == "literal_error":
        return Problem(key, _not_among(error))
    return Problem(key, f"{shown(error['input'])} does not fit; write {_expected(error)}")


def key_of(loc: Sequence[int | str], raw: Mapping[str, Any]) -> str:
    """Returns a path of the settings as a key, with the server's name: `quorate:servers[2].vms[0].ram (kvm1)`.

    `raw`: the complete settings, which contain the server's name.
    """
    text = f"{NAMESPACE}:"
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (part if text.endswith(":") else f".{part}")
    name = _name_of(loc, raw)
    return f"{text} ({name})" if name else text


def _name_of(loc: Sequence[int | str], raw: Mapping[str, Any]) -> str | None:
    if len(loc) < 2 or loc[0] != "servers" or not isinstance(loc[1], int):
        return None
    servers = raw.get("servers")
    if not isinstance(servers, list) or loc[1] >= len(cast("list[Any]", servers)):
        return None
    entry = cast("list[Any]", servers)[loc[1]]
    name = cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _unknown(key: str, fields: Sequence[str]) -> str:
    return f"unknown key{look_alike(key)}{did_you_mean(key, fields)}; write one of: {', '.join(fields)}"


def _misspelt(error: ErrorDetails) -> str:
    """Returns the key that was probably meant to be the missing one. Some mappings have free keys."""
    loc = location(error)
    given = cast("dict[str, Any]", error["input"]) if isinstance(error["input"], dict) else {}
    near = closest(str(loc[-1]), [key for key in given if key not in _fields_at(loc[:-1])])
    return f", and '{near}' is not a known key" if near else ""


def _not_among(error: ErrorDetails) -> str:
    listed = str(error.get("ctx", {}).get("expected", ""))
    choices = [word.strip("' ") for word in listed.replace(" or ", ", ").split(",")]
    given = error["input"]
    hint = look_alike(str(given)) + did_you_mean(str(given), choices)
    return f"{shown(given)} is not known{hint}; write one of: {', '.join(choices)}"


def _expected(error: ErrorDetails) -> str:
    if error["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(str(error.get("ctx", {}).get("pattern")), expected(error))
    return expected(error)


def _described(loc: Sequence[int | str]) -> str:
    model = _model_at(loc[:-1])
    for name, field in model.model_fields.items() if model else ():
        if loc[-1] == (field.alias or name) and field.description:
            return f" ({field.description})"
    return ""


def _fields_at(loc: Sequence[int | str]) -> list[str]:
    model = _model_at(loc)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _model_at(loc: Sequence[int | str]) -> type[BaseModel] | None:
    here: object = Settings
    for part in loc:
        here = _without_none(here)
        if isinstance(here, type) and issubclass(here, BaseModel):
            fields = {field.alias or name: field for name, field in here.model_fields.items()}
            by_project = ProjectOverride if here is Projects else None
            here = fields[str(part)].annotation if part in fields else by_project
        elif get_origin(here) in (tuple, dict):
            arguments = get_args(here)
            here = arguments[0] if get_origin(here) is tuple else arguments[1]
        else:
            return None
    here = _without_none(here)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _without_none(annotation: object) -> object:
    """Returns the type X for the annotation X | None; other annotations are returned unchanged."""
    others = [each for each in get_args(annotation) if each is not NoneType]
    return others[0] if isinstance(annotation, UnionType) and len(others) == 1 else annotation
