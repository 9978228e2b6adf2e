"""Definitions of OpenStack projects and processes as data: containers with their ports, probes and files.

The definitions do not depend on Kubernetes or Pulumi. Numbers of instances and nodes come from the plan instead.

Names of images, commands, users and files are Kolla's (branch stable/2026.1, docker/ and ansible/roles/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openstack.config.layers import Secret, WrittenFile

if TYPE_CHECKING:
    from openstack.config.wiring import Wiring

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]
Client = Literal["members", "project", "needs", "monitoring", "nodes", "everyone"]
"""Kinds of clients that may connect to a port of a process:

- members: pods of the process itself;
- project: pods of the process's project, including jobs;
- needs: pods of the projects that need the process's project, including jobs;
- monitoring: pods of Prometheus;
- nodes: addresses of the nodes, which are also the addresses of pods on the host's network;
- everyone: every address, inside and outside of the cluster.
"""


@dataclass(frozen=True)
class Port:
    """A named port on which a container listens."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"
    clients: tuple[Client, ...] = ("project", "needs")
    """Kinds of clients that may connect to the port. A NetworkPolicy enforces this (network_policies.py)."""


@dataclass(frozen=True)
class Http:
    """A probe that succeeds if an HTTP GET of `path` returns 2xx or 3xx."""

    port: str
    path: str = "/"


@dataclass(frozen=True)
class Tcp:
    """A probe that succeeds if the port accepts a connection."""

    port: str


@dataclass(frozen=True)
class Exec:
    """A probe that succeeds if a command exits with 0. `timeout` in seconds; Kolla's health checks start slowly."""

    command: tuple[str, ...]
    timeout: int = 15


@dataclass(frozen=True)
class Connection(Exec):
    """A probe that succeeds if a process is connected to a port: of RabbitMQ, or of the database."""


Probe = Http | Tcp | Exec


@dataclass(frozen=True, kw_only=True)
class HostPath:
    """A directory of the node, mounted in the container at `mount` (default: the same path)."""

    name: str
    path: str
    """Path on the node: absolute, or relative to the environment's directory there (data.root)."""
    mount: str | None = None
    read_only: bool = False
    shared: bool = False
    """Whether mounts propagate between node and container, as network namespaces and disks of virtual machines need."""


@dataclass(frozen=True)
class ConfigurationFile:
    """A configuration file: its name in the ConfigMap, and the path to which Kolla's start script copies it."""

    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of a process's pod.

    The first container of a pod runs the process itself. The others share its files, its network or its lifecycle.
    """

    name: str
    image: str
    user: str
    """Name of the user that owns the container's files, as Kolla's config.json requires. root: the container runs as
    root, because it reads files of the node that only root may read."""
    command: str
    ready: Probe
    alive: Probe | None = None
    """The liveness probe. None if it could only look for the process: kubelet restarts a container whose process ends.
    A process without an API is then restarted only until it connects for the first time (`ready` is a Connection): a
    failure of RabbitMQ must not restart every agent of the cloud at once."""
    ports: tuple[Port, ...] = ()
    files: tuple[ConfigurationFile, ...] = ()
    """Files that the container reads, with their paths. A file that neither the project nor the stack file provides is
    left out."""
    host_paths: tuple[HostPath, ...] = ()
    data: str | None = None
    """Directory in the container at which the process's volume is mounted; None without a volume."""
    owns: tuple[str, ...] = ()
    """Directories that `user` must own, in addition to those for logs and data."""
    environment: tuple[tuple[str, str], ...] = ()
    node_address: tuple[str, ...] = ()
    """Names of environment variables that are set to the node's address. oslo.config reads OS_<SECTION>__<OPTION>."""
    node_name: tuple[str, ...] = ()
    """Names of environment variables that are set to the node's name."""
    node_values: bool = False
    """Whether the stack file may set options for single nodes. The command then begins with node_values.start()."""
    privileged: bool = False
    kolla: bool = True
    """Whether the image uses Kolla's start script and config.json; False for Ceph's own image."""
    patience: int = 15
    """Minutes that the container may take to start before kubelet restarts it. If `ready` is a Connection, they are
    pod.CONNECT. When the power of a server is back, all its containers start at once, and a restart begins anew: with 5
    minutes, kubelet restarted APIs twice on a host of two cores. Project figure."""
    share: int = 1
    """The container's share of the pod's CPU and memory, relative to the shares of the other containers."""


@dataclass(frozen=True)
class Claim:
    """Size of a volume on the node's own disk in GiB, by profile of the stack.

    The sizes are project figures, not measured.
    """

    production: int
    lab: int


@dataclass(frozen=True, kw_only=True)
class ClaimMount:
    """Mount of a persistent volume in a job, by the name of the volume's claim."""

    name: str
    claim: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class ProcessDefinition:
    """A process of an OpenStack project, such as nova-api.

    The plan has its number of instances and its nodes by `name`.
    """

    name: str
    project: str
    kind: Kind
    containers: tuple[Container, ...]
    uid: int
    """User and group id of the main container, from kolla/common/users.py; for Ceph, from its packages."""
    exposed: tuple[tuple[int, str], ...] = ()
    """Ports of the process's Service, each with the name of the container port that receives the traffic."""
    discovered: bool = False
    """Whether a headless Service lists the process's pods. A StatefulSet always has such a Service."""
    sticky: bool = False
    """Whether the Service sends a client always to the same pod, because pods do not share their sessions."""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    claim: Claim | None = None
    backups: Claim | None = None
    """Size of the volume for backups of the process's data, on a node that runs a member; None for no backups."""
    grace: int = 30
    """Seconds from SIGTERM until the pod is killed."""
    after: str | None = None
    """The process of the same project that must be ready before this one is created or changed, because it answers the
    requests of this one's start."""

    @property
    def backup_claim_name(self) -> str:
        """The name of the claim for the volume with backups, which is part of the volumes' names too."""
        return f"{self.name}-backup"


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """A job that must complete before the processes of its project start. Its command must be idempotent."""

    name: str
    image: str
    user: str
    command: str
    """The command that Kolla's start script runs: words separated by spaces, no shell."""
    written: tuple[WrittenFile, ...] = ()
    """Files that only the job has."""
    files: tuple[ConfigurationFile, ...] = ()
    """Files that the job reads, its own and those of its project, with their paths."""
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, Secret], ...] = ()
    """Names of environment variables with the secret that each contains."""
    quorums: tuple[str, ...] = ()
    """Quorums of the plan, such as mysqld, without whose majority the job fails."""
    long_statements: bool = False
    """Whether a statement in the database may take any time: a change of a large table takes minutes."""


Requirement = Literal["whole", "stopped", "nothing"]
"""State of the members of the quorums that an action's job uses (`JobDefinition.quorums`), before it may run:

- whole: every member is ready;
- stopped: no member exists;
- nothing: any state.
"""


@dataclass(frozen=True, kw_only=True)
class ActionDefinition:
    """A job that runs on a schedule or when the operator requests it.

    It becomes a CronJob, which is suspended if the action has no schedule.
    """

    job: JobDefinition
    purpose: str
    """What the action does, in one line, as `quorate action` lists it."""
    requires: Requirement = "nothing"
    schedule: str | None = None
    """Schedule in cron's syntax, in UTC; None if the action runs only on request."""
    beside: str | None = None
    """The process of the project, by its name in the plan, on whose nodes the job runs; None for the first one."""
    mounts: tuple[ClaimMount, ...] = ()
    attempts: int = 1
    deadline: int
    """Seconds after which the action is stopped, all attempts included."""


Configure = Callable[["Wiring", str], tuple[WrittenFile, ...]]
"""Function that returns the configuration files of a project for the process or job with the given name. A file of the
stack file replaces the project's file of the same name."""


def _no_files(_wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ProjectDefinition:
    """An OpenStack project such as Nova: processes that share a database, a user, endpoints, jobs and secrets."""

    name: str
    processes: tuple[ProcessDefinition, ...]
    needs: tuple[str, ...] = ()
    """Projects that must run before this project's jobs and processes start."""
    configure: Configure = _no_files
    jobs: Callable[[Wiring], tuple[JobDefinition, ...]] = lambda _wiring: ()
    """Function that returns the project's jobs, in the order in which they run."""
    actions: Callable[[Wiring], tuple[ActionDefinition, ...]] = lambda _wiring: ()


def port_check(process: str, port: int) -> Connection:
    """Returns Kolla's probe for a process without an API: whether it is connected to `port`."""
    return Connection(("healthcheck_port", process, str(port)))


HOST = ("OS_DEFAULT__HOST",)
"""`node_name` of a process that registers itself as a service of a host, as those of Nova and Cinder do. The default is
the pod's name, so that each update would leave a service that is down."""
