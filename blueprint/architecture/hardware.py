"""The hardware of the labs that the reference architectures were tested on: data, not requirements.

Sizes are in source 004's own units: GB of memory and disk, TB of raw disk, Gb/s of ports.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from blueprint.source import Count, Facts, Source, Text


class Disk(Facts):
    """Disks of one kind in a server."""

    count: Count
    size: Count
    type: Literal["ssd", "hdd"]
    model: Text | None = None


class ServerModel(Facts):
    """One configuration of servers."""

    use: Literal["compute/controller", "storage"]
    model: Text
    cpu_model: Text
    sockets: Count
    cores_per_socket: Count
    memory: Count
    disks: Annotated[tuple[Disk, ...], Field(min_length=1)]
    nic_model: Text
    nics: Count
    ports_per_nic: Count
    port_speed: Count

    @property
    def cores(self) -> int:
        """Cores of all sockets."""
        return self.sockets * self.cores_per_socket


class Quantity(Facts):
    """The number of the lab's nodes with one use, and the sum of their resources."""

    nodes: Count
    cores: Count
    memory: Count
    raw_disk: Count | None = None


class Switch(Facts):
    """A switch that the lab's network was built from; source 004 does not say how many."""

    use: Literal["spine", "top of rack"]
    model: Text
    modules: str = ""


class NetworkClass(Facts):
    """A class of networks and what it carries; a cloud may have several networks of each."""

    name: Literal["management", "public", "storage", "overlay"]
    carries: Text


class MonitoringServer(Facts):
    """What the text requires of a monitoring server, and how many servers it would add."""

    cores: Count
    memory: Count
    iops: tuple[Count, Count]
    """From, to."""
    production_iops: Count
    """The minimum for sizeable production."""
    extra_nodes: Count
    source: Source


class Hardware(Facts):
    """What source 004 states about the hardware of one lab."""

    servers: Annotated[tuple[ServerModel, ...], Field(min_length=1)]
    compute: Quantity
    """Compute and controller nodes together, as source 004 counts them."""
    storage: Quantity
    racks: Count
    switches: tuple[Switch, ...]
    server_link: Text
    uplink: Text
    networks: tuple[NetworkClass, ...]
    monitoring: MonitoringServer
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    note: str = ""
