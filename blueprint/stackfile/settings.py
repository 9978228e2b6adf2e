"""Defines the keys and values of a stack file under `quorate:`, as pydantic models.

The models check only single values. loader.py reads a stack file into them, inventory.py checks values that depend on
each other (names, addresses), server_checks.py checks entries of servers, checks.py checks what needs neither servers
nor an architecture, and the planner checks whether there are enough servers for the architecture. The models contain no
secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from blueprint.openstack.projects.process_definition import Backend, Feature
from blueprint.openstack.projects.records import Records, stack_records
from blueprint.stackfile.api_servers import ApiProxy, ApiServers
from blueprint.stackfile.backup_settings import Backups
from blueprint.stackfile.ceph_settings import CephSettings, ExternalCeph
from blueprint.stackfile.certificate_generations import CertificateGenerations
from blueprint.stackfile.class_networks import CLASSES, ClassName, ClassNetwork
from blueprint.stackfile.cloud_content import Bootstrap
from blueprint.stackfile.image_settings import Images
from blueprint.stackfile.preparation_settings import Preparation, long_form, or_kind
from blueprint.stackfile.probe_times import Probes
from blueprint.stackfile.resources import PodSize
from blueprint.stackfile.servers import Server, or_path
from blueprint.stackfile.values import (
    HOST,
    Address,
    AnnotationKey,
    Domain,
    Image,
    Instances,
    Interface,
    Label,
    Names,
    Network,
    ObjectName,
    OptionValue,
    ProjectPath,
    Strict,
)
from blueprint.stackfile.virt import Virt
from formats.waiver import Waiver

KUBERNETES = "1.37.2"
"""The version of Kubernetes that Quorate's tests run."""
KUBERNETES_VERSION = r"^1\.(0|[1-9][0-9]?)\.(0|[1-9][0-9]?)$"
"""Matches a version of Kubernetes such as 1.37.2."""
REGION_NAME = r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$"
"""Matches names of regions: Keystone takes more, but the name is a word of commands and of clients' files."""
EXISTING = "existing"
"""The value of `quorate:machines` for the nodes of a running cluster."""


def _as_written(value: object) -> object:
    """Converts a number to text, for values such as `architecture: 300`, which users may write without quotes."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_written)]
PhysicalNetworkName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,63}$")]
"""Up to 64 characters, as in Neutron's database, without ':' and ',', which separate names in its options."""
USER = r"^[a-z_][a-z0-9_.-]{0,31}$"
PciAddress = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$")]
"""Domain, bus, slot and function of a PCI device, as in /sys/bus/pci/devices."""
User = Annotated[str, StringConstraints(pattern=USER)]
"""The name of a Linux user as Debian's adduser accepts it, and directories of companies: jane.doe."""
Port = Annotated[int, Field(gt=0, lt=65536)]


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
    resources: Annotated[PodSize, Field(description="CPU and memory of a pod, all its containers together")] = PodSize()
    probes: Annotated[
        Probes, Field(description="times of the probes of all its containers, such as {liveness: {periodSeconds: 30}}")
    ] = Probes()
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


class Projects(Strict):
    """Settings of OpenStack projects by name, and the projects of the stack's own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, ProjectOverride] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]

    records: Annotated[
        ProjectPath | None,
        Field(description="folder with records of projects of your own, and their Python files (docs/records.md)"),
    ] = None

    @property
    def overrides(self) -> Mapping[str, ProjectOverride]:
        """The settings by project."""
        return self.__pydantic_extra__


def only_records(value: Any) -> Any:
    """Converts the short form of `projects`, which is the folder with the stack's own records, to the long one."""
    return {"records": value} if isinstance(value, str) else value


def _or_folder(schema: dict[str, Any]) -> None:
    """Adds the short form of `projects` to its schema."""
    schema["anyOf"] = [{"$ref": schema.pop("$ref")}, {"type": "string"}]


class NodeServiceOverride(Strict):
    """Settings of one service on some nodes."""

    options: Annotated[Options, Field(min_length=1)]


class SriovDevice(Strict):
    """A network card whose virtual functions virtual machines get (SR-IOV; source 004, 2.5.2)."""

    network: Annotated[PhysicalNetworkName, Field(description="the physical network that the card is connected to")]
    exclude: Annotated[
        tuple[PciAddress, ...],
        Field(description="virtual functions that Neutron must not set up, by PCI address, such as 0000:02:00.2"),
    ] = ()


class NodeOverride(Strict):
    """Settings on some nodes, which override all other settings there."""

    services: dict[str, NodeServiceOverride] = {}
    interfaces: Annotated[
        dict[str, Interface], Field(description="the nodes' interface on a physical network, by the network's name")
    ] = {}
    sriov: Annotated[
        dict[Interface, SriovDevice],
        Field(description="network cards whose virtual functions virtual machines get, by the name of the interface"),
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


VLANS = r"^[0-9]{1,4}:[0-9]{1,4}(,[0-9]{1,4}:[0-9]{1,4}){0,99}$"
"""Matches ranges of VLAN IDs, each first:last, separated by commas."""


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
        StringConstraints(pattern=VLANS),
        Field(description="VLAN IDs that Neutron may choose for networks of projects, such as 200:250,1001:1030"),
    ] = None


class Networks(Strict):
    """Networks of the cloud. The defaults carry 2,000 nodes with 256 pod addresses each."""

    management: Annotated[Network | None, Field(description="network that contains the addresses of all machines")] = (
        None
    )
    overlay: Annotated[
        ClassNetwork | None,
        Field(description="network of the tunnels between nodes; left out: the tunnels are in the management network"),
    ] = None
    storage: Annotated[
        ClassNetwork | None,
        Field(description="network of Ceph's data; left out: it is in the management network"),
    ] = None
    migration: Annotated[
        ClassNetwork | None,
        Field(description="network of live migrations between computes; left out: they are in the management network"),
    ] = None
    pods: Network = IPv4Network("172.16.0.0/13")
    services: Network = IPv4Network("172.24.0.0/16")
    physical: Annotated[
        dict[PhysicalNetworkName, PhysicalNetwork],
        Field(description="physical networks of Neutron by name, such as {physnet1: {interface: ens8}}"),
    ] = {"physnet1": PhysicalNetwork()}
    backend: Annotated[
        Backend,
        Field(
            description="what connects virtual machines: Open vSwitch with Neutron's agents (ovs), or OVN (ovn); it "
            "cannot change later"
        ),
    ] = "ovs"
    routers: Annotated[
        int | None,
        Field(
            ge=1,
            le=100_000,
            description="routers of projects that the L3 agents have memory for; left out: one a compute",
        ),
    ] = None
    distributed_routers: Annotated[
        bool,
        Field(
            description="whether new routers are on every compute too (DVR), each of which then needs an interface "
            "on the external network"
        ),
    ] = False

    @property
    def classes(self) -> Mapping[ClassName, ClassNetwork]:
        """The networks beside management that the stack file has, by class."""
        found: dict[ClassName, ClassNetwork | None] = {name: getattr(self, name) for name in CLASSES}
        return {name: network for name, network in found.items() if network}


class BgpPeer(Strict):
    """A router outside of the cluster that learns the addresses of pods, such as the switch of a rack (004, 5.5.8)."""

    address: Annotated[Address, Field(description="the router's address, which nodes reach")]
    as_number: Annotated[int, Field(gt=0, lt=2**32, description="the router's BGP AS number")]
    rack: Annotated[
        Label | None, Field(description="only the nodes of this rack peer with it; left out: every node")
    ] = None


class CalicoManifest(Strict):
    """A copy of Calico's manifest, for machines that cannot reach GitHub or for another version."""

    url: Annotated[
        str, StringConstraints(pattern=r"^https?://[A-Za-z0-9][-A-Za-z0-9.:]*/[-A-Za-z0-9._~/%+]*$", max_length=500)
    ]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class CalicoSettings(Strict):
    """How Calico connects pods on different nodes. The default fits nodes of one layer 2."""

    encapsulation: Annotated[
        Literal["none", "ipip", "vxlan"],
        Field(description="tunnels between all nodes; none: the network of the nodes routes the pods' addresses"),
    ] = "none"
    tunnels: Annotated[
        Network | None,
        Field(description="network of the tunnels' addresses, which NetworkPolicies admit; only with an encapsulation"),
    ] = None
    mtu: Annotated[
        int | None, Field(ge=1280, le=9216, description="MTU of the pods' interfaces; left out: from the node's")
    ] = None
    peers: Annotated[tuple[BgpPeer, ...], Field(description="routers that learn the pods' addresses by BGP")] = ()
    manifest: CalicoManifest | None = None


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
    annotations: Annotated[
        dict[AnnotationKey, str],
        Field(description="annotations of the Ingress, such as the controller's limit of an upload's size"),
    ] = {}


class JumpHost(Strict):
    """The host through which all machines are reached, as `ssh -J`."""

    host: Annotated[
        str,
        StringConstraints(pattern=HOST),
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
    release: Annotated[
        Text,
        StringConstraints(pattern=r"^20[0-9][0-9]\.[12]$"),
        Field(description="OpenStack release; from 2026.1, a cloud can be upgraded to 2027.1 directly (SLURP)"),
    ] = "2026.1"
    region: Annotated[
        str,
        StringConstraints(pattern=REGION_NAME),
        Field(description="name of the cloud's only region in Keystone; it cannot change later"),
    ] = "RegionOne"
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
    servers: Annotated[
        tuple[Server, ...],
        Field(
            min_length=1,
            description="the servers, or the path of a JSON or YAML file with this list",
            json_schema_extra=or_path,
        ),
    ]
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
    calico: CalicoSettings = CalicoSettings()
    ingress: Ingress | None = None
    api_servers: ApiServers | None = None
    ssh: Ssh = Ssh()
    prepare: Annotated[
        Preparation,
        BeforeValidator(long_form),
        Field(
            description="what Quorate installs on machines; packages, archives or none, also alone, as text",
            json_schema_extra=or_kind,
        ),
    ] = Preparation()
    projects: Annotated[
        Projects,
        BeforeValidator(only_records),
        Field(
            description="settings by project, which ask for an optional one too (designate: {}, ironic: {}); "
            "records: a folder with projects of your own, also alone, as text",
            json_schema_extra=_or_folder,
        ),
    ] = Projects()
    services: dict[str, Override] = {}
    nodes: Annotated[
        dict[Names, NodeOverride],
        Field(description="settings of single nodes, by a pattern of the nodes' names"),
    ] = {}
    secrets: Annotated[
        dict[str, SecretVersion],
        Field(description="secrets that were replaced, by name, such as nova/database; no secret is written here"),
    ] = {}
    certificates: Annotated[
        CertificateGenerations, Field(description="generations of certificate authorities, which replace one another")
    ] = CertificateGenerations()
    backups: Backups = Backups()
    images: Images = Images()
    ceph: Annotated[
        CephSettings | None, Field(description="left out: Quorate runs Ceph on the servers of role storage")
    ] = None
    bootstrap: Annotated[
        Bootstrap | None,
        Field(description="networks, flavors and image of a new cloud; {} for the default network, router and flavors"),
    ] = None
    waivers: tuple[Waiver, ...] = ()

    @property
    def records(self) -> Records:
        """The records of the projects that the stack has: Quorate's, and those of the folder that it names.

        Optional ones are among them if `projects` names them. Quorate's alone if those of the folder have problems
        (loader.py reports them).
        """
        return stack_records(
            self.projects.records, self.projects.overrides, self.networks.backend, self.asked_features
        )[0]

    @property
    def asked_features(self) -> frozenset[Feature]:
        """What the stack asks for that some processes are only for."""
        asked: dict[Feature, bool] = {
            "distributed-routers": self.networks.distributed_routers,
            "sr-iov": any(values.sriov for values in self.nodes.values()),
        }
        return frozenset(feature for feature, is_asked in asked.items() if is_asked)

    @property
    def external_ceph(self) -> ExternalCeph | None:
        """The Ceph cluster outside of the stack that its services use; None if the stack runs its own."""
        return self.ceph.external if self.ceph else None

    @property
    def api_proxy(self) -> ApiProxy:
        """Times of the proxy on each machine except the masters."""
        return self.api_servers.proxy if self.api_servers else ApiProxy()

    @property
    def has_ovn(self) -> bool:
        """Whether OVN connects virtual machines, in place of Neutron's agents."""
        return self.networks.backend == "ovn"

    @property
    def is_lab(self) -> bool:
        """Whether the stack may be lost: rules advise, and a rendered stack may have generated secrets."""
        return self.profile == "lab"

    @property
    def is_live(self) -> bool:
        """Whether `up` changes a running cloud, and not only files."""
        return self.target == "live"

    @property
    def has_existing_machines(self) -> bool:
        """Whether the servers are nodes of a running cluster, so that nothing is made for machines."""
        return self.machines == EXISTING

    @property
    def installs_calico(self) -> bool:
        """Whether Quorate installs Calico: nobody else does, and the machines are its own."""
        return self.cni == "calico" and not self.has_existing_machines
