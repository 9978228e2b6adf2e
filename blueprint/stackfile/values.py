"""Defines types for values of a stack file that are used in labels, file names, image references and addresses.

Values are validated when they are read, so that other code can use them without escaping. Otherwise a rack such as
`r1,quorate.io/pool=master` would become two labels of a node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, WrapValidator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from blueprint.openstack.given_secret import FORMS, GivenSecret
from blueprint.patterns import check_name, expand
from blueprint.problems import quoted, shown
from formats import image_reference

ERROR = "quorate"
"""The pydantic error type of Quorate's own errors, whose text is the complete message for the user."""

_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN_PART = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_PATH = 1024
_LONGEST_DOMAIN = 237
"""Maximum length of a domain: 253 for a DNS name, less 14 for the longest subdomain (cloudformation) and 2 dots."""
_LONGEST_OBJECT_NAME = 253
HOST = r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$"
"""Matches a host name or an IPv4 address."""
INTERFACE = r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,14}$"
Interface = Annotated[str, StringConstraints(pattern=INTERFACE)]
"""Name of a network interface or bridge: up to 15 characters (Linux, IFNAMSIZ)."""


class Strict(BaseModel):
    """Base of the stack file's models: unknown keys are errors, no conversion, immutable, keys in camelCase."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


def error(message: str) -> PydanticCustomError:
    """Returns a pydantic error with this message, which contains the error and the text to write instead."""
    return PydanticCustomError(ERROR, "{message}", {"message": message})


def _label(value: str) -> str:
    if not _LABEL.fullmatch(value):
        raise error(
            f"{quoted(value)} is not a valid label of a node; write up to 63 letters, digits, '-', '_' and '.', the "
            "first and the last a letter or a digit"
        )
    return value


def _annotation_key(value: str) -> str:
    domain, slash, name = value.rpartition("/")
    if not _LABEL.fullmatch(name) or (slash and not all(map(_DOMAIN_PART.fullmatch, domain.split(".")))):
        raise error(f"{quoted(value)} is not a key of an annotation; write one such as example.com/name")
    return value


def _names(value: str) -> str:
    for name in _expanded(value):
        try:
            check_name(name)
        except ValueError as wrong:
            raise error(str(wrong)) from None
    return value


def _racks(value: str) -> str:
    for rack in _expanded(value):
        _label(rack)
    return value


def _expanded(pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError as wrong:
        raise error(str(wrong)) from None


def _pools(value: Mapping[str, str | None]) -> Mapping[str, str | None]:
    for pool in value:
        _label(pool)
    return value


def _image(value: str) -> str:
    if not image_reference.parse(value).is_valid:
        advice = "write one such as quay.io/openstack.kolla/keystone:2026.1-debian-trixie"
        raise error(f"{quoted(value)} is not a valid image reference; {advice}")
    return value


def _registry(value: str) -> str:
    if not image_reference.parse(f"{value}/x").is_valid:
        advice = "write a host and, where needed, a port, such as registry.example.org:5000"
        raise error(f"{quoted(value)} is not a valid registry; {advice}")
    return value


def _namespace(value: str) -> str:
    if not image_reference.parse(f"registry/{value}/x").is_valid:
        advice = "write lower-case letters, digits and '.', '-', '_' or '/' between them"
        raise error(f"{quoted(value)} is not a valid namespace; {advice}")
    return value


def _image_names(value: Mapping[str, str]) -> Mapping[str, str]:
    for name in value:
        if not image_reference.parse(name).is_valid or {":", "@"} & set(name):
            raise error(f"{quoted(name)} is not the name of an image; write one such as keystone")
    return value


def project_path(value: str) -> str:
    """Returns a path inside the project. Raises a pydantic error for another one."""
    advice = "write a path inside the project, relative to its directory, such as own/file.yaml"
    path = PurePosixPath(value)
    if not value.strip() or len(value) > _LONGEST_PATH or not value.isprintable():
        raise error(f"{quoted(value)} is not a valid path; {advice}")
    if path.is_absolute() or ".." in path.parts or value.startswith("~"):
        raise error(f"{quoted(value)} leads out of the project; {advice}")
    try:
        project = Path.cwd().resolve()
        inside = (project / path).resolve().is_relative_to(project)
    except (OSError, RuntimeError):  # a loop of symbolic links: reading the file reports it
        return value
    if not inside:
        raise error(f"{quoted(value)} is a symbolic link out of the project; {advice}")
    return value


def _network(value: object, handler: Callable[[object], IPv4Network]) -> IPv4Network:
    """Validates a network. Replaces Python's error, such as "has host bits set", with advice for the stack file."""
    try:
        return handler(value)
    except ValidationError:
        raise error(f"{shown(value)} does not fit; write an IPv4 network such as 10.20.0.0/16") from None


def _address(value: object, handler: Callable[[object], IPv4Address]) -> IPv4Address:
    try:
        return handler(value)
    except ValidationError:
        raise error(f"{shown(value)} does not fit; write an IPv4 address such as 10.20.0.11") from None


def _plain_value(value: object, handler: Callable[[object], Any]) -> Any:
    """Validates a plain value. Reports a wrong type as one error; pydantic reports one for each allowed type."""
    try:
        return handler(value)
    except ValidationError:
        raise error("is not a plain value; write text, a finite number, true or false") from None


def _option_value(value: object, handler: Callable[[object], Any]) -> Any:
    try:
        # JSON lists reach this function as Python lists, which strict mode does not accept as tuples.
        return handler(tuple(cast("list[object]", value)) if isinstance(value, list) else value)
    except ValidationError:
        raise error(
            "is not the value of an option; write text, a number, true, false or a list of these, or a secret as "
            f"{FORMS}"
        ) from None


def _others_secret(value: object, handler: Callable[[object], Any]) -> Any:
    try:
        return handler(value)
    except ValidationError:
        if isinstance(value, str):
            removed = "holds a secret in clear text; remove it from the file (and from its history)"
            raise error(f"{removed}, and write {FORMS}") from None
        raise error(f"is not the place of a secret; write {FORMS}") from None


def _domain(value: str) -> str:
    if len(value) > _LONGEST_DOMAIN or not all(map(_DOMAIN_PART.fullmatch, value.split("."))):
        advice = "write one such as cloud.example.org, in lower case and without a scheme, a port or a path"
        raise error(f"{quoted(value)} is not a valid domain; {advice}")
    return value


def _object_name(value: str) -> str:
    if len(value) > _LONGEST_OBJECT_NAME or not all(map(_DOMAIN_PART.fullmatch, value.split("."))):
        advice = "write up to 253 lower-case letters, digits, '-' and '.', the first and the last a letter or a digit"
        raise error(f"{quoted(value)} is not a valid name of a Kubernetes object; {advice}")
    return value


AnnotationKey = Annotated[str, AfterValidator(_annotation_key)]
"""A key of an annotation or a label (Kubernetes documentation, Labels and Selectors)."""
Label = Annotated[str, AfterValidator(_label)]
"""A value of a Kubernetes label (Kubernetes documentation, Labels and Selectors)."""
Names = Annotated[str, AfterValidator(_names)]
"""A name of a node, or a pattern of names: each a host name, alone or with its domain."""
Racks = Annotated[str, AfterValidator(_racks)]
"""A rack, or a pattern of racks: each a label value."""
PoolsOfNames = Annotated[dict[str, str | None], AfterValidator(_pools)]
Domain = Annotated[str, AfterValidator(_domain)]
"""A DNS domain, below which the services have their names."""
ObjectName = Annotated[str, AfterValidator(_object_name)]
"""A name of a Kubernetes object: a DNS subdomain (Kubernetes documentation, Object Names and IDs)."""
Image = Annotated[str, AfterValidator(_image)]
Registry = Annotated[str, AfterValidator(_registry)]
RegistryHost = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?(:[0-9]{1,5})?$")]
"""A registry without a path, such as registry.example:5000."""
Namespace = Annotated[str, AfterValidator(_namespace)]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Digests = Annotated[dict[str, Digest], AfterValidator(_image_names)]
ProjectPath = Annotated[str, AfterValidator(project_path)]
"""A path inside the directory of the project, also after its symbolic links are followed."""
Address = Annotated[IPv4Address, WrapValidator(_address)]
Network = Annotated[IPv4Network, WrapValidator(_network)]
PlainValue = Annotated[
    str | int | Annotated[float, Field(allow_inf_nan=False)] | bool,
    WrapValidator(_plain_value),
]
_Scalar = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool
OthersSecret = Annotated[GivenSecret, WrapValidator(_others_secret)]
"""A secret that another system gave."""
OptionValue = Annotated[_Scalar | tuple[_Scalar, ...] | GivenSecret, WrapValidator(_option_value)]
"""The value of an OpenStack option; blueprint/openstack/options.py checks it against the option's type."""

# The limits of these types catch typing errors; they are far above the sizes of real servers.
Cores = Annotated[int, Field(gt=0, le=4096)]
Gib = Annotated[int, Field(gt=0, le=65_536)]
"""Size of memory in GiB; current x86 processors address at most 64 TiB."""
DiskSize = Annotated[int, Field(gt=0, le=1_000_000)]
"""Size of a disk in GB or GiB, up to a petabyte."""
Instances = Annotated[int, Field(gt=0, le=10_000)]
Number = Annotated[int, Field(ge=0, le=999_999_999)]
"""A number in a name, or the id of a virtual machine."""
