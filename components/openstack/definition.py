"""Projects and processes as data: containers with their ports, probes and files.

Contains no Kubernetes, no Pulumi and no number of the reference architectures: instances and nodes come from the plan.
Names of images, commands, users and files are Kolla's (branch stable/2026.1, docker/ and ansible/roles/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from components.openstack.config.layers import Secret, WrittenFile

if TYPE_CHECKING:
    from components.openstack.config.wiring import Wiring

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]


@dataclass(frozen=True)
class Port:
    """A port that a container listens on, by name."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"


@dataclass(frozen=True)
class Http:
    """Succeeds if a GET is answered with 2xx or 3xx."""

    port: str
    path: str = "/"


@dataclass(frozen=True)
class Tcp:
    """Succeeds if the port accepts a connection."""

    port: str


@dataclass(frozen=True)
class Exec:
    """Succeeds if the command exits with 0. `timeout` in seconds: Kolla's health checks start slowly."""

    command: tuple[str, ...]
    timeout: int = 15


Probe = Http | Tcp | Exec


@dataclass(frozen=True, kw_only=True)
class HostPath:
    """A directory of the node, mounted in the container at `mount` (default: the same path)."""

    name: str
    path: str
    """Absolute, or relative to the environment's own directory on the node (storage.root)."""
    mount: str | None = None
    read_only: bool = False
    shared: bool = False
    """Mounts made on either side appear on the other: network namespaces, a guest's disks."""


@dataclass(frozen=True)
class File:
    """A configuration file: its name in the ConfigMap, and where Kolla's start script puts it."""

    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of a pod. The first one of a process is the process itself; the others run in its pod because they
    share its files, its network or its fate."""

    name: str
    image: str
    user: str
    """Owner of its files, by name, as Kolla's config.json requires it."""
    command: str
    ready: Probe
    alive: Probe
    ports: tuple[Port, ...] = ()
    files: tuple[File, ...] = ()
    """Destinations of files that the project or the stack file may give; a file that is not given is left out."""
    host_paths: tuple[HostPath, ...] = ()
    data: str | None = None
    """Directory of the process's persistent data."""
    owns: tuple[str, ...] = ()
    """Directories that it must own beside its logs."""
    environment: tuple[tuple[str, str], ...] = ()
    node_address: tuple[str, ...] = ()
    """Variables of its environment that hold the address of its node. oslo.config reads OS_<SECTION>__<OPTION>."""
    privileged: bool = False
    kolla: bool = True
    """False: started as it is, without Kolla's start script and config.json (Ceph's own image)."""
    patience: int = 5
    """Minutes that the start may take before kubelet restarts the container."""
    share: int = 1
    """Its part of the pod's resources, relative to the other containers."""


@dataclass(frozen=True)
class Claim:
    """Persistent data on the node's own disk, in GiB by profile. Project figures, unmeasured."""

    production: int
    lab: int


@dataclass(frozen=True, kw_only=True)
class ProcessDefinition:
    """A process of a project: what one instance runs. Instances and nodes come from the plan, under the same name."""

    name: str
    project: str
    kind: Kind
    containers: tuple[Container, ...]
    uid: int
    """Kolla's user and group id of the main container (kolla/common/users.py); Ceph's is that of its packages."""
    exposed: tuple[tuple[int, str], ...] = ()
    """Ports of its Service, and the name of the container's port behind each."""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    claim: Claim | None = None
    grace: int = 30
    """Seconds between the request to terminate and the kill."""


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """Work that must be done before the processes of its project start. Done again, it changes nothing."""

    name: str
    image: str
    user: str
    command: str
    """What Kolla's start script runs: words separated by spaces, no shell."""
    written: tuple[WrittenFile, ...] = ()
    """Files of the job's own."""
    files: tuple[File, ...] = ()
    """Destinations of its own files and of those of the project."""
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, Secret], ...] = ()
    """Variables of its environment with secrets."""


Configure = Callable[["Wiring", str], tuple[WrittenFile, ...]]
"""Returns the files that a project writes for one of its processes or jobs, given by name. A file of the same name in
the stack file replaces one."""


def _no_files(_wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ProjectDefinition:
    """An OpenStack project: processes that share a database, a user, endpoints, jobs and secrets."""

    name: str
    processes: tuple[ProcessDefinition, ...]
    needs: tuple[str, ...] = ()
    """Projects that must run before its own jobs and processes start."""
    configure: Configure = _no_files
    jobs: Callable[[Wiring], tuple[JobDefinition, ...]] = lambda _wiring: ()
    """Its jobs, each after the one before."""


def port_check(process: str, port: int) -> Exec:
    """Kolla's check for a process without an API: it has a connection to `port` (message queue or database)."""
    return Exec(("healthcheck_port", process, str(port)))


def runs(process: str) -> Exec:
    """Succeeds if the process exists. A failed message queue must not restart every agent of the cloud at once."""
    return Exec(("pgrep", "-f", process))
