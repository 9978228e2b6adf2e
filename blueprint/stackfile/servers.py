"""Defines the keys and values of an entry of `quorate:servers`, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from blueprint.hypervisor_types import HypervisorName
from blueprint.stackfile.class_networks import ClassAddresses
from blueprint.stackfile.values import (
    Address,
    Cores,
    DiskSize,
    Gib,
    Interface,
    Names,
    Number,
    PlainValue,
    PoolsOfNames,
    ProjectPath,
    Racks,
    Strict,
)
from blueprint.stackfile.virt import Numa

Role = Literal["master", "etcd", "controller", "compute", "storage", "monitoring", "virt"]


def _as_mapping(value: object) -> object:
    """Converts `pool: mysqld` to a mapping of this pool to None, which means all names of the server's entry."""
    return {value: None} if isinstance(value, str) else value


def _by_name(value: object) -> object:
    """Converts `hostKey: ssh-ed25519 …` to a mapping of "", which means the only name of the entry, to the key."""
    return {"": value} if isinstance(value, str) else value


def or_path(schema: dict[str, Any]) -> None:
    """Adds text to a schema for a list. blueprint/stackfile/list_files.py reads the file before the models do."""
    schema["type"] = ["array", "string"]


Pools = Annotated[
    PoolsOfNames,
    BeforeValidator(_as_mapping),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
    Field(
        description="the pool of its nodes, or a pattern of names for each pool, such as {mysqld: ctl[01-03]}; "
        "left out, the planner chooses, and make pin writes what it chose"
    ),
]
"""Maps each pool to a pattern of machine names in a server's entry, or to None for all names of the entry."""


HostKeys = Annotated[
    dict[str, str],
    BeforeValidator(_by_name),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
    Field(description="public SSH host key, or for a pattern a mapping of name to public SSH host key"),
]
"""Maps names of machines to their public SSH host keys. The name "" means the only machine of the entry."""


class Disk(Strict):
    """Disks of one kind in a server."""

    size: Annotated[DiskSize, Field(description="GB")]
    type: Literal["ssd", "hdd"] = "ssd"
    count: Annotated[int, Field(gt=0, le=1000)] = 1


class VirtualMachine(Strict):
    """A virtual machine of a virt host, as Fuel had it: `{id, cpu, ram, …}` (source 000, Data model impact).

    Further keys are values for the domain template, as those of `values`.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, PlainValue]  # pyright: ignore[reportIncompatibleVariableOverride] - as pydantic has it

    id: Annotated[Number, Field(description="number, unique on its server")]
    name: Annotated[Names | None, Field(description="name of its node; <server>-vm<id> where it is left out")] = None
    cpu: Annotated[Cores, Field(description="virtual CPUs")]
    ram: Annotated[Gib, Field(description="GiB")]
    disk: Annotated[DiskSize, Field(description="GiB")] = 100
    address: Annotated[Address, Field(description="address; in a pattern it rises with the server's number")]
    addresses: ClassAddresses = {}
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    pool: Pools = {}
    host_key: HostKeys = {}
    huge_pages: Annotated[
        bool, Field(description="whether its memory is in huge pages of 2 MiB, which the virt host must have reserved")
    ] = False
    numa: Numa | None = None
    bridges: Annotated[
        tuple[Interface, ...],
        Field(max_length=16, description="further bridges of the virt host: it gets an interface in each"),
    ] = ()
    template: Annotated[
        ProjectPath | None, Field(description="a libvirt domain template of its own; left out: quorate:template")
    ] = None
    values: Annotated[
        dict[str, PlainValue],
        Field(description="further values for the domain template, which ignores values that it does not use"),
    ] = {}


class Server(Strict):
    """A physical server, or many alike where its name is a pattern such as cmp[0001-1000]."""

    name: Names
    address: Annotated[
        Address,
        Field(
            description="address of number 1 of a pattern (see countFrom); number n has the address n - 1 further on"
        ),
    ]
    count_from: Annotated[Number, Field(description="number in the name that has this address and the first rack")] = 1
    addresses: ClassAddresses = {}
    roles: tuple[Role, ...] = ()
    pool: Pools = {}
    host_key: HostKeys = {}
    cpu: Annotated[Cores, Field(description="cores")]
    memory: Annotated[Gib, Field(description="GiB")]
    disks: tuple[Disk, ...] = ()
    rack: Annotated[
        Racks | None, Field(description="a pattern such as r[1-3] assigns its racks in turn, by number")
    ] = None
    hypervisor: Annotated[HypervisorName, Field(description="the hypervisor of the virtual machines (source 002)")] = (
        "kvm"
    )
    vms: Annotated[
        tuple[VirtualMachine, ...],
        Field(
            description="the virtual machines of a virt host, or the path of a JSON or YAML file with this list",
            json_schema_extra=or_path,
        ),
    ] = ()
