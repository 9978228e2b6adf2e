"""Data model for the hardware of the labs on which the reference architectures were tested.

The data are information, not requirements. Sizes are in the units of source document 004: GB of memory and disk, TB of
raw disk, Gb/s of ports.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from blueprint.source import Count, DataModel, Source, Text


class ReferenceDisk(DataModel):
    """Disks of one kind in a server."""

    count: Count
    size: Count
    type: Literal["ssd", "hdd"]
    model: Text | None = None


class ServerModel(DataModel):
    """One model of the lab's servers, with its CPU, memory, disks and network ports."""

    use: Literal["compute/controller", "storage"]
    model: Text
    cpu_model: Text
    sockets: Count
    cores_per_socket: Count
    memory: Count
    disks: Annotated[tuple[ReferenceDisk, ...], Field(min_length=1)]
    nic_model: Text
    nics: Count
    ports_per_nic: Count
    port_speed: Count

    @property
    def cores(self) -> int:
        """Number of cores in all sockets of the server."""
        return self.sockets * self.cores_per_socket


class Quantity(DataModel):
    """How many of the lab's nodes have one use (compute or storage), and the sum of their resources."""

    nodes: Count
    cores: Count
    memory: Count
    raw_disk: Count | None = None


class Switch(DataModel):
    """A model of switch in the lab's network. Source document 004 does not state how many there were."""

    use: Literal["spine", "top of rack"]
    model: Text
    modules: str = ""


class NetworkClass(DataModel):
    """A class of networks, such as storage, with the traffic that it carries.

    A cloud may have several of each class.
    """

    name: Literal["management", "public", "storage", "overlay"]
    carries: Text


class MonitoringServer(DataModel):
    """Requirements of source document 004 for a monitoring server, and the number of servers that it adds."""

    cores: Count
    memory: Count
    iops: tuple[Count, Count]
    """Minimum and maximum of the recommended disk operations per second."""
    production_iops: Count
    """Minimum disk operations per second for a large production cloud."""
    extra_nodes: Count
    source: Source


class Hardware(DataModel):
    """The hardware of the lab on which an architecture was tested, as source document 004 states it."""

    servers: Annotated[tuple[ServerModel, ...], Field(min_length=1)]
    compute: Quantity
    """Compute and controller nodes together, because source document 004 counts them together."""
    storage: Quantity
    racks: Count
    switches: tuple[Switch, ...]
    server_link: Text
    uplink: Text
    networks: tuple[NetworkClass, ...]
    monitoring: MonitoringServer
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    note: str = ""
