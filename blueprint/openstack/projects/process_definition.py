"""The form in which a project's record describes its processes: containers with their ports, probes and files.

Numbers of instances and nodes are not part of it: they come from the plan. Names of images, commands, users and files
are Kolla's (branch stable/2026.1, docker/ and ansible/roles/).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema

from blueprint.source import Count, Source, Text

Profile = Literal["production", "lab"]
Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]
Backend = Literal["ovs", "ovn"]
"""What connects virtual machines: the agents of Neutron with Open vSwitch, or OVN (`quorate:networks.backend`)."""
Client = Literal["members", "project", "needs", "monitoring", "nodes", "everyone"]
"""Kinds of clients that may connect to a port of a process:

- members: pods of the process itself;
- project: pods of the process's project, including jobs;
- needs: pods of the projects that need the process's project, including jobs;
- monitoring: pods of Prometheus;
- nodes: addresses of the nodes, which are also the addresses of pods on the host's network;
- everyone: every address, inside and outside of the cluster.
"""
Feature = Literal["bare-metal", "distributed-routers", "sr-iov"]
"""What a stack file may ask for, and some processes are only for (blueprint/stackfile/features.py)."""
DnsLabel = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
PortName = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,13}[a-z0-9])?$")]
"""Name of a port; Kubernetes allows 15 characters."""
ScriptName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*\.(py|sh)$")]
"""Name of a file in openstack/scripts."""
PortNumber = Annotated[int, Field(ge=1, le=65535)]
_STRICT = ConfigDict(extra="forbid", strict=True, defer_build=True)  # one schema for all, that of the record


@dataclass(frozen=True, config=_STRICT)
class Port:
    """A named port on which a container listens."""

    name: PortName
    number: PortNumber
    protocol: Literal["TCP", "UDP"] = "TCP"
    clients: tuple[Client, ...] = ("project", "needs")
    """Kinds of clients that may connect to the port. A NetworkPolicy enforces this (network_policies.py)."""
    on_node: bool = False
    """Whether the port is also one of the node's address (a hostPort), for clients that know no names of the cluster.
    A node then runs one such pod. Pods on the host's network have all their ports there."""
    last: PortNumber | None = None
    """The last number of a range of ports that begins with `number`, such as those of which a program takes one for
    each connection between members. No Service and no probe has a range. None for a single port."""

    @property
    def numbers(self) -> range:
        """The numbers of the port, or of its range."""
        return range(self.number, (self.last or self.number) + 1)


@dataclass(frozen=True, config=_STRICT)
class Http:
    """A probe that succeeds if an HTTP GET of `path` returns 2xx or 3xx."""

    port: PortName
    path: str = "/"
    kind: Literal["http"] = "http"


@dataclass(frozen=True, config=_STRICT)
class Tcp:
    """A probe that succeeds if the port accepts a connection."""

    port: PortName
    kind: Literal["tcp"] = "tcp"


@dataclass(frozen=True, config=_STRICT)
class Exec:
    """A probe that succeeds if a command exits with 0. `timeout` in seconds; Kolla's health checks start slowly."""

    command: tuple[Text, ...]
    timeout: Count = 15
    script: ScriptName | None = None
    """A Python file of openstack/scripts that runs with the arguments `command`; None if `command` is the command."""
    kind: Literal["exec"] = "exec"


@dataclass(frozen=True, config=_STRICT)
class Connection:
    """Kolla's probe for a process without an API: succeeds if `program` is connected to `port`.

    The port is RabbitMQ's or the database's.
    """

    program: Text
    port: PortNumber
    timeout: Count = 15
    kind: Literal["connection"] = "connection"

    @property
    def command(self) -> tuple[str, ...]:
        """The command that Kolla's images have for this check."""
        return ("healthcheck_port", self.program, str(self.port))


CommandProbe = Exec | Connection
"""Probes that run a command in the container."""
Probe = Annotated[Http | Tcp | CommandProbe, Field(discriminator="kind")]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class HostPath:
    """A directory of the node, mounted in the container at `mount` (default: the same path)."""

    name: DnsLabel
    path: str
    """Path on the node: absolute, or relative to the environment's directory there (data.root)."""
    mount: str | None = None
    read_only: bool = False
    shared: bool = False
    """Whether mounts propagate between node and container, as network namespaces and disks of virtual machines need."""


@dataclass(frozen=True, config=_STRICT)
class ConfigurationFile:
    """A configuration file: its name in the ConfigMap, and the path to which Kolla's start script copies it.

    Containers of an image without that script read the file where it is mounted; its path is then its name.
    """

    name: Text
    path: Text
    owner: Text | None = None
    """The user who reads it, if that is not the container's."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Container:
    """A container of a process's pod.

    The first container of a pod runs the process itself. The others share its files, its network or its lifecycle.
    """

    name: DnsLabel
    image: Text
    user: Text
    """Name of the user that owns the container's files, as Kolla's config.json requires. root: the container runs as
    root, because it reads files of the node that only root may read."""
    command: str = ""
    """The command that Kolla's start script runs: words separated by spaces, no shell. In other images bash runs it."""
    script: ScriptName | None = None
    """A shell script of openstack/scripts that runs instead of `command`, in an image without Kolla's start script."""
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
    environment: dict[str, str] = Field(default={})
    """Environment variables."""
    environment_with: dict[Backend, dict[str, str]] = Field(default={})
    """Further environment variables in a stack with a backend of networks."""
    node_address: tuple[str, ...] = ()
    """Names of environment variables that are set to the node's address. oslo.config reads OS_<SECTION>__<OPTION>."""
    node_name: tuple[str, ...] = ()
    """Names of environment variables that are set to the node's name. A process that registers itself as a service of
    a host, as those of Nova and Cinder do, needs OS_DEFAULT__HOST: the default is the pod's name, so that each update
    would leave a service that is down."""
    node_values: bool = False
    """Whether the stack file may set options for single nodes. The command then begins with a start script
    (openstack/node_values.py) and names the program's configuration files with `--config-file`: the script adds such
    an option, and oslo.config then ignores its default files."""
    privileged: bool = False
    kolla: bool = True
    """Whether the image uses Kolla's start script and config.json; False for Ceph's own image."""
    patience: Count = 15
    """Minutes that the container may take to start before kubelet restarts it. If `ready` is a Connection, they are
    CONNECT (components/openstack/probes.py). When the power of a server is back, all its containers start at once, and
    a restart begins anew: with 5 minutes, kubelet restarted APIs twice on a host of two cores. Project figure."""
    backend: Backend | None = None
    """The backend of networks with which a stack has the container; None for every one."""
    share: Count = 1
    """The container's share of the pod's CPU and memory, relative to the shares of the other containers."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Claim:
    """Size of a volume on the node's own disk in GiB, by profile of the stack.

    The sizes are project figures, not measured.
    """

    production: Count
    lab: Count

    def size(self, profile: Profile) -> int:
        """Returns the size in GiB for a stack of this profile."""
        return self.production if profile == "production" else self.lab


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Resources:
    """Requests and limits of one instance, all containers of its pod together: CPU in millicores, memory in MiB.

    A request is what an instance is sure of on a crowded node, not what it may use: every service that may run on a
    node of a pool fits there at once (blueprint/plan/any_order.py), so that no scheduling order leaves a pod Pending.
    """

    cpu_m: Count
    memory_mi: Count
    limit_cpu_m: Count | None = None
    """CPU limit in millicores; None for no limit: a throttled member of a quorum looks like a failed one."""
    limit_memory_mi: Count
    per_disk: bool = False
    """Whether the values are for one daemon, and a pod runs one daemon for each data disk of its node."""
    router_memory_mi: Count | None = None
    """Memory that each router of an instance adds to the limit, if several instances back each other up."""
    source: Source | None = None
    """The source of the values; None in a record for values with the common source (blueprint/plan/sizing.py)."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Sizes:
    """Requests and limits of one instance by profile of the stack."""

    production: Resources
    lab: Resources


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Companion:
    """How a process without a row in the reference architectures is planned (blueprint/plan/companions.py)."""

    of: DnsLabel
    """The service with a row in whose pools the process runs, with as many instances as the row."""
    order: Count
    """Position among the companions in the plan. It must not change: the plan would assign other nodes to instances."""
    single: bool = False
    """Whether the process has one instance, because further instances would only repeat the same API requests."""
    every_node: bool = False
    """Whether the process is an agent: it runs once on every node of the stack, and `of` reads its data."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class ProcessDefinition:
    """A process of an OpenStack project, such as nova-api.

    The plan has its number of instances and its nodes by `name`.
    """

    name: DnsLabel
    project: SkipJsonSchema[str] = ""
    """Name of the project. The record sets it."""
    kind: Kind
    uid: Count
    """User and group id of the main container, from kolla/common/users.py; for Ceph, from its packages."""
    containers: tuple[Container, ...]
    sizes: Sizes
    companion: Companion | None = None
    """How the process is planned beside a row; None if it has a row of its own."""
    backend: Backend | None = None
    """The backend of networks with which a stack has the process; None for every one."""
    takes_place_of: DnsLabel | None = None
    """The process of another backend whose row this one has, and beside which its companions run then."""
    only_with: Feature | None = None
    """What a stack must ask for to have the process; None for a process of every stack with the project."""
    follows: DnsLabel | None = None
    """The process on whose nodes this one runs if a topology of Fuel-CCP places only the other one, because Fuel-CCP
    had no service for this one. Its project then uses the other one's database."""
    configured_with: tuple[DnsLabel, ...] = ()
    """Services whose addresses or numbers of workers are in the process's configuration, so that a stack with the
    process must have them too."""
    exposed: dict[PortName, PortNumber] = Field(default={})
    """Container ports that the process's Service leads to, by name, each with the port number of the Service."""
    subdomain: DnsLabel | None = None
    """Subdomain of the stack's domain by which clients outside of the cluster reach the first port of `exposed`. Those
    of Fuel-CCP (source 004, 1.6.2); Quorate adds placement and cloudformation. None if no client outside needs it."""
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
    grace: Count = 30
    """Seconds from SIGTERM until the pod is killed."""
    lease: bool = False
    """Whether the process's pods use the Lease of the process's name. They then have a token of the Kubernetes API, and
    may create Leases, and read and change this one."""
    after: DnsLabel | None = None
    """The process of the same project that must be ready before this one is created or changed, because it answers the
    requests of this one's start."""

    @property
    def backup_claim_name(self) -> str:
        """The name of the claim for the volume with backups, which is part of the volumes' names too."""
        return f"{self.name}-backup"

    @property
    def ports(self) -> tuple[Port, ...]:
        """The ports of all containers."""
        return tuple(port for container in self.containers for port in container.ports)
