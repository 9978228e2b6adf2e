"""Defines the keys and values of a stack file under `quorate:`, as pydantic models.

The models check only single values. loader.py reads a stack file into them, inventory.py checks values that depend on
each other (names, addresses, virtual machines and their hosts), checks.py checks what needs neither servers nor an
architecture, and the planner checks whether there are enough servers for the architecture. The models contain no
secrets.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from blueprint.stackfile.cloud_content import Bootstrap
from blueprint.stackfile.values import (
    STRICT,
    Address,
    Cores,
    Digests,
    DiskSize,
    Domain,
    Gib,
    Image,
    Instances,
    Names,
    Namespace,
    Network,
    Number,
    ObjectName,
    OptionValue,
    PlainValue,
    PoolsOfNames,
    ProjectPath,
    Racks,
    Registry,
)
from blueprint.stackfile.virt import Numa, Virt
from waiver import Waiver

KUBERNETES = "1.36.3"
"""The version of Kubernetes that Quorate's tests run."""
KUBERNETES_VERSION = r"^1\.(0|[1-9][0-9]?)\.(0|[1-9][0-9]?)$"
"""Matches a version of Kubernetes such as 1.36.3."""
EXISTING = "existing"
"""The value of `quorate:machines` for the nodes of a running cluster."""

Role = Literal["master", "etcd", "controller", "compute", "storage", "monitoring", "virt"]
Hypervisor = Literal["kvm", "qemu", "lxc", "container"]


def _as_written(value: object) -> object:
    """Converts a number to text, for values such as `architecture: 300`, which users may write without quotes."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _as_mapping(value: object) -> object:
    """Converts `pool: mysqld` to a mapping of this pool to None, which means all names of the server's entry."""
    return {value: None} if isinstance(value, str) else value


def _by_name(value: object) -> object:
    """Converts `hostKey: ssh-ed25519 …` to a mapping of "", which means the only name of the entry, to the key."""
    return {"": value} if isinstance(value, str) else value


def _or_path(schema: dict[str, Any]) -> None:
    """Adds text to a schema for a list. blueprint/stackfile/vm_lists.py reads the file before the models do."""
    schema["type"] = ["array", "string"]


Text = Annotated[str, BeforeValidator(_as_written)]
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
INTERFACE = r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,14}$"
Interface = Annotated[str, StringConstraints(pattern=INTERFACE)]
"""Name of a network interface or bridge: up to 15 characters (Linux, IFNAMSIZ)."""
PhysicalNetworkName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,63}$")]
"""Up to 64 characters, as in Neutron's database, without ':' and ',', which separate names in its options."""
User = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")]
"""The name of a Linux user, as useradd(8) accepts it by default."""
Port = Annotated[int, Field(gt=0, lt=65536)]


class Strict(BaseModel):
    """Base of the stack file's models: unknown keys are errors, values are not converted, keys are in camelCase."""

    model_config = STRICT


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
    roles: tuple[Role, ...] = ()
    pool: Pools = {}
    host_key: HostKeys = {}
    cpu: Annotated[Cores, Field(description="cores")]
    memory: Annotated[Gib, Field(description="GiB")]
    disks: tuple[Disk, ...] = ()
    rack: Annotated[
        Racks | None, Field(description="a pattern such as r[1-3] assigns its racks in turn, by number")
    ] = None
    hypervisor: Annotated[Hypervisor, Field(description="the hypervisor of the virtual machines (source 002)")] = "kvm"
    vms: Annotated[
        tuple[VirtualMachine, ...],
        Field(
            description="the virtual machines of a virt host, or the path of a JSON or YAML file with this list",
            json_schema_extra=_or_path,
        ),
    ] = ()


Options = Annotated[
    dict[str, dict[str, dict[str, OptionValue]]],
    Field(description="options of OpenStack's configuration files: file, section, option, value"),
]


class Override(Strict):
    """Settings of one service, which override the reference architecture and the service's defaults."""

    definition: Annotated[
        Literal["rabbitmq", "mysqld"] | None,
        Field(
            description="makes a further RabbitMQ or Galera (mysqld) of this name, which "
            "quorate:projects.<project>.mapping refers to"
        ),
    ] = None
    replicas: Instances | None = None
    image: Annotated[Image | None, Field(description="a whole reference, best pinned by digest")] = None
    options: Options = {}
    config: Annotated[dict[str, str], Field(description="further files: name to content")] = {}


class ProjectOverride(Strict):
    """Settings of all services of one OpenStack project, which the settings of a single service override."""

    options: Options = {}
    mapping: Annotated[
        dict[Literal["rpc", "notifications", "database"], str],
        Field(
            description="which RabbitMQ carries the project's calls and notifications, and which Galera has its "
            "databases; left out: rabbitmq and mysqld"
        ),
    ] = {}


class NodeServiceOverride(Strict):
    """Settings of one service on some nodes."""

    options: Annotated[Options, Field(min_length=1)]


class NodeOverride(Strict):
    """Settings on some nodes, which override all other settings there."""

    services: dict[str, NodeServiceOverride] = {}
    interfaces: Annotated[
        dict[str, Interface], Field(description="the nodes' interface on a physical network, by the network's name")
    ] = {}


class SecretVersion(Strict):
    """Which generation of a secret the services use."""

    generation: Annotated[
        int, Field(ge=2, le=1000, description="the generation in use; the first is 1 and needs no entry")
    ]
    previous: Annotated[
        Literal["kept", "removed"],
        Field(description="whether the previous generation's account is kept, which restarting services still use"),
    ] = "kept"


class Images(Strict):
    """Registry and digests of images. Tags of Kolla's public namespace move; production pins digests."""

    registry: Registry = "quay.io"
    namespace: Namespace = "openstack.kolla"
    distro: Literal["debian", "ubuntu", "rocky", "centos"] = "debian"
    digests: Annotated[Digests, Field(description="image name to sha256 digest")] = {}


class PhysicalNetwork(Strict):
    """A physical network of Neutron, and how nodes are connected to it (004, 1.1: neutron.physnets)."""

    bridge: Annotated[Interface, Field(description="Open vSwitch bridge that is made on every node")] = "br-ex"
    interface: Annotated[
        Interface | None,
        Field(
            description="interface without IP addresses that each node adds to the bridge; left out: none, and the "
            "network ends at each node"
        ),
    ] = None
    vlans: Annotated[
        str | None,
        StringConstraints(pattern=r"^[0-9]{1,4}:[0-9]{1,4}$"),
        Field(description="VLAN IDs that Neutron may choose for networks of projects, such as 1001:1030"),
    ] = None


class Networks(Strict):
    """Networks of the cloud. The defaults carry 2,000 nodes with 256 pod addresses each."""

    management: Annotated[Network | None, Field(description="network that contains the addresses of all machines")] = (
        None
    )
    pods: Network = IPv4Network("172.16.0.0/13")
    services: Network = IPv4Network("172.24.0.0/16")
    physical: Annotated[
        dict[PhysicalNetworkName, PhysicalNetwork],
        Field(description="physical networks of Neutron by name, such as {physnet1: {interface: ens8}}"),
    ] = {"physnet1": PhysicalNetwork()}


class Ingress(Strict):
    """How clients outside of the cluster reach the services: a name below the domain for each, with TLS (004, 1.6)."""

    domain: Annotated[Domain, Field(description="the services' names are below it, such as identity.<domain>")]
    class_name: Annotated[ObjectName, Field(description="IngressClass of the cluster's controller, such as traefik")]
    certificate: Annotated[
        ObjectName,
        Field(description="Secret with the certificate, of type kubernetes.io/tls, in the cloud's namespace"),
    ] = "openstack-tls"
    issuer: Annotated[
        ObjectName | None,
        Field(description="ClusterIssuer of cert-manager that makes the certificate; left out: you make the Secret"),
    ] = None
    port: Annotated[Port, Field(description="HTTPS port of the controller")] = 443


class JumpHost(Strict):
    """The host through which all machines are reached, as `ssh -J`."""

    host: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$"),
        Field(description="name or IPv4 address"),
    ]
    user: User = "root"
    port: Port = 22
    host_key: Annotated[str, Field(description="public SSH host key of the jump host")]


class Ssh(Strict):
    """How machines are reached. Keys come from the SSH agent or a Pulumi secret, never from the stack file."""

    user: Annotated[User, Field(description="the user that logs in to machines; root, or a user with sudo")] = "root"
    port: Port = 22
    jump_host: JumpHost | None = None


class ExistingCluster(Strict):
    """The Kubernetes cluster that a stack on existing machines is applied to."""

    context: Annotated[
        str,
        StringConstraints(min_length=1, max_length=253),
        Field(description="the kubeconfig's context of the cluster; the current context is never used"),
    ]
    label_nodes: Annotated[
        bool, Field(description="whether up sets labels and taints of nodes that differ from the plan")
    ] = False


class Settings(Strict):
    """All settings of a stack."""

    profile: Literal["lab", "production"]
    architecture: Annotated[
        Annotated[ProjectPath, BeforeValidator(_as_written)] | None,
        Field(description='"100", "300", "500", "1000" or a path; left out: the smallest for the computes'),
    ] = None
    target: Literal["render", "live"] = "render"
    machines: Annotated[
        Literal["managed", "existing"],
        Field(description="existing: the servers are nodes of a running cluster, and nothing is made for machines"),
    ] = "managed"
    cluster: Annotated[
        ExistingCluster | None, Field(description="the running cluster that the target live is applied to")
    ] = None
    release: Annotated[Text, StringConstraints(pattern=r"^20[0-9][0-9]\.[12]$")] = "2026.1"
    kubernetes: Annotated[
        Text,
        StringConstraints(pattern=KUBERNETES_VERSION),
        Field(description="version of Kubernetes in a new cluster; a running cluster keeps its own"),
    ] = KUBERNETES
    features: tuple[Literal["reduced-footprint"], ...] = ()
    acknowledged: Annotated[
        tuple[Literal["performance", "security", "isolation"], ...],
        Field(description="disclaimers that you have read (000 and 002); required in production on virtual machines"),
    ] = ()
    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    topology: Annotated[
        ProjectPath | None, Field(description="a Fuel-CCP topology file, instead of roles on servers")
    ] = None
    template: Annotated[ProjectPath | None, Field(description="a libvirt domain template of your own")] = None
    virt: Annotated[
        Virt | None,
        Field(description="left out: the virtual machines exist, and Quorate only logs in to them"),
    ] = None
    networks: Networks = Networks()
    cni: Annotated[
        Literal["calico", "none"],
        Field(description="the network plugin of pods that Quorate installs; none: you install another one"),
    ] = "calico"
    ingress: Ingress | None = None
    ssh: Ssh = Ssh()
    projects: dict[str, ProjectOverride] = {}
    services: dict[str, Override] = {}
    nodes: Annotated[
        dict[Names, NodeOverride],
        Field(description="settings of single nodes, by a pattern of the nodes' names"),
    ] = {}
    secrets: Annotated[
        dict[str, SecretVersion],
        Field(description="secrets that were replaced, by name, such as nova/database; no secret is written here"),
    ] = {}
    images: Images = Images()
    bootstrap: Annotated[
        Bootstrap | None,
        Field(description="networks, flavors and image of a new cloud; {} for the default network, router and flavors"),
    ] = None
    waivers: tuple[Waiver, ...] = ()
