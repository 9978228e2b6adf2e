"""Projects and processes as data: containers with their ports, probes and files.

Does not use Kubernetes or Pulumi, and contains no figures of the reference architectures: instances and nodes come from
the plan.
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
Client = Literal["members", "project", "needs", "monitoring", "nodes", "everyone"]
"""Who may connect to a port:

- members: pods of the process itself;
- project: pods of its project, including jobs;
- needs: pods of the projects that need its project, including jobs;
- monitoring: pods of Prometheus;
- nodes: addresses of the nodes, from which pods on the host's network connect;
- everyone: every address, inside and outside of the cluster.
"""


@dataclass(frozen=True)
class Port:
    """A port that a container listens on, by name."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"
    clients: tuple[Client, ...] = ("project", "needs")
    """Who may connect, which a NetworkPolicy enforces (network_policies.py)."""


@dataclass(frozen=True)
class Http:
    """Succeeds if a GET returns 2xx or 3xx."""

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
    """Absolute, or relative to the environment's own directory on the node (data.root)."""
    mount: str | None = None
    read_only: bool = False
    shared: bool = False
    """Whether mounts propagate in both directions, as network namespaces and guests' disks require."""


@dataclass(frozen=True)
class File:
    """A configuration file: its name in the ConfigMap, and the path to which Kolla's start script copies it."""

    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of a pod. The first one is the process itself; the others run in its pod because they share its
    files, its network or its lifecycle."""

    name: str
    image: str
    user: str
    """Name of the user that owns the container's files, as Kolla's config.json requires. root: the container runs as
    root, because it reads files of the node that only root may read."""
    command: str
    ready: Probe
    alive: Probe
    ports: tuple[Port, ...] = ()
    files: tuple[File, ...] = ()
    """Destinations of files from the project or the stack file; a file that neither provides is left out."""
    host_paths: tuple[HostPath, ...] = ()
    data: str | None = None
    """Directory of the process's persistent data."""
    owns: tuple[str, ...] = ()
    """Further directories that the user must own, in addition to logs and data."""
    environment: tuple[tuple[str, str], ...] = ()
    node_address: tuple[str, ...] = ()
    """Environment variables set to the node's address. oslo.config reads OS_<SECTION>__<OPTION>."""
    node_values: bool = False
    """Whether the stack file may set options for single nodes. The command then begins with node_values.start()."""
    privileged: bool = False
    kolla: bool = True
    """Whether the image uses Kolla's start script and config.json; False for Ceph's own image."""
    patience: int = 5
    """Minutes that the container may take to start before kubelet restarts it."""
    share: int = 1
    """The container's share of the pod's resources, relative to the other containers."""


@dataclass(frozen=True)
class Claim:
    """Persistent data on the node's own disk, in GiB by profile. Project figures, unmeasured."""

    production: int
    lab: int


@dataclass(frozen=True, kw_only=True)
class ClaimMount:
    """A volume of the environment, mounted in a job by its claim."""

    name: str
    claim: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class ProcessDefinition:
    """A process of a project: what one instance runs. Instances and nodes come from the plan, under the same name."""

    name: str
    project: str
    kind: Kind
    containers: tuple[Container, ...]
    uid: int
    """User and group id of the main container, from kolla/common/users.py; for Ceph, from its packages."""
    exposed: tuple[tuple[int, str], ...] = ()
    """Ports of the Service, each with the name of its target port."""
    discovered: bool = False
    """Whether a headless Service lists its pods, as it does for members of a StatefulSet."""
    sticky: bool = False
    """Whether the Service sends a client always to the same pod, because pods do not share their sessions."""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    claim: Claim | None = None
    backups: Claim | None = None
    """A volume for backups of its data, on a node that runs a member."""
    grace: int = 30
    """Termination grace period in seconds."""

    @property
    def backup_claim_name(self) -> str:
        """The name of the claim for backups, and of its volumes."""
        return f"{self.name}-backup"


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """Work that must complete before the processes of its project start. It must be idempotent."""

    name: str
    image: str
    user: str
    command: str
    """The command that Kolla's start script runs: words separated by spaces, no shell."""
    written: tuple[WrittenFile, ...] = ()
    """The job's own files."""
    files: tuple[File, ...] = ()
    """Destinations of the job's own files and of the project's."""
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, Secret], ...] = ()
    """Environment variables that contain secrets."""


Requirement = Literal["whole", "stopped", "nothing"]
"""What an action requires of its project's quorum before it may run:

- whole: every member is ready;
- stopped: no member exists.
"""


@dataclass(frozen=True, kw_only=True)
class ActionDefinition:
    """Work that runs on a schedule or on request. A CronJob holds it, suspended if it has no schedule."""

    job: JobDefinition
    purpose: str
    """What it does, in one line."""
    requires: Requirement = "nothing"
    schedule: str | None = None
    """In cron's form, UTC."""
    mounts: tuple[ClaimMount, ...] = ()
    attempts: int = 1
    deadline: int
    """Seconds after which it is stopped, all attempts included."""


Configure = Callable[["Wiring", str], tuple[WrittenFile, ...]]
"""Returns the files of a project for one of its processes or jobs, given by name. The stack file can replace a file by
one of the same name."""


def _no_files(_wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ProjectDefinition:
    """An OpenStack project: processes that share a database, a user, endpoints, jobs and secrets."""

    name: str
    processes: tuple[ProcessDefinition, ...]
    needs: tuple[str, ...] = ()
    """Projects that must run before this project's jobs and processes start."""
    configure: Configure = _no_files
    jobs: Callable[[Wiring], tuple[JobDefinition, ...]] = lambda _wiring: ()
    """Returns the project's jobs, in the order in which they run."""
    actions: Callable[[Wiring], tuple[ActionDefinition, ...]] = lambda _wiring: ()


def port_check(process: str, port: int) -> Exec:
    """Kolla's check for a process without an API: succeeds if it has a connection to `port` (queue or database)."""
    return Exec(("healthcheck_port", process, str(port)))


def runs(process: str) -> Exec:
    """Succeeds if the process exists: a failed message queue must not restart every agent of the cloud at once."""
    return Exec(("pgrep", "-f", process))
