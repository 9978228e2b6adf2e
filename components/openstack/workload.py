"""What a service is, as data: its containers, their ports, probes and files. No Kubernetes, no Pulumi, no numbers of
the reference architectures: instances and places are the plan's.

Names of images, commands, users and files are Kolla's (stable/2026.1; kolla.md says where each was read).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]

AMQP = 5672
MYSQL = 3306


@dataclass(frozen=True)
class Port:
    """A port that a container listens on, by name."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"


@dataclass(frozen=True)
class Http:
    """Well if a GET is answered with 2xx or 3xx."""

    port: str
    path: str = "/"


@dataclass(frozen=True)
class Tcp:
    """Well if the port takes a connection."""

    port: str


@dataclass(frozen=True)
class Exec:
    """Well if the command ends with 0. Commands of Kolla's healthchecks start slowly: they get time."""

    command: tuple[str, ...]
    timeout: int = 15


Probe = Http | Tcp | Exec


@dataclass(frozen=True, kw_only=True)
class HostPath:
    """A directory of the node, seen in the container at `mount` (the same path where it is left out)."""

    name: str
    path: str
    mount: str | None = None
    read_only: bool = False
    shared: bool = False
    """Mounts made on either side show on the other: network namespaces, a guest's disks."""


@dataclass(frozen=True)
class File:
    """A configuration file: its name in the ConfigMap, and where Kolla's start script puts it."""

    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Container:
    """A process. The first one of a workload is the service itself, others are its companions."""

    name: str
    image: str
    user: str
    """Owner of its files, by name, as Kolla's config.json wants it."""
    command: str
    ready: Probe
    alive: Probe
    ports: tuple[Port, ...] = ()
    files: tuple[File, ...] = ()
    """Where files go that a stack may give; one that is not given is left out."""
    host_paths: tuple[HostPath, ...] = ()
    data: str | None = None
    """Where it keeps the workload's data."""
    owns: tuple[str, ...] = ()
    """Directories that it must own beside its logs."""
    environment: tuple[tuple[str, str], ...] = ()
    privileged: bool = False
    kolla: bool = True
    """False: started as it is, without Kolla's start script and config.json (Ceph's own image)."""
    patience: int = 5
    """Minutes that it may take to start before it is restarted."""
    share: int = 1
    """Its part of the pod's resources, against the parts of its companions."""


@dataclass(frozen=True)
class Claim:
    """Data on the node's own disk, and how much of it, in GiB. Ours, unmeasured."""

    production: int
    lab: int


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A service of the reference architectures."""

    service: str
    component: str
    """The project it belongs to."""
    kind: Kind
    containers: tuple[Container, ...]
    uid: int
    """Kolla's user and group id of its main process (kolla/common/users.py); Ceph's is its packages' own."""
    exposed: tuple[tuple[int, str], ...] = ()
    """Ports of its Service, and the name of the container's port behind each."""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    claim: Claim | None = None
    written: tuple[tuple[str, str], ...] = ()
    """Files that it has, by name, unless the stack gives its own of that name."""
    grace: int = 30
    """Seconds to end in."""


def port_check(process: str, port: int) -> Exec:
    """Kolla's own check of a process without an API: it has a connection to `port` (message queue or database)."""
    return Exec(("healthcheck_port", process, str(port)))


def runs(process: str) -> Exec:
    """The process is there. A lost message queue must not restart every agent of the cloud at once."""
    return Exec(("pgrep", "-f", process))
