"""Facts of the plan that the configuration of a process needs about other processes: names, accounts and sizes.

Processes are addressed by the names of their Services, so that rescheduling a pod changes no configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from blueprint.architecture.ovn_rows import CONTROLLER
from blueprint.openstack.projects.process_definition import Backend
from blueprint.openstack.projects.records import Records
from blueprint.plan import availability_zones
from blueprint.plan.host_reserves import HostReserve, host_reserves
from blueprint.plan.plan import Plan
from blueprint.stackfile import further_clusters, sriov
from blueprint.stackfile.backup_settings import BackupCopies
from blueprint.stackfile.ceph_settings import ExternalCeph
from blueprint.stackfile.class_networks import ClassName, ClassNetwork
from blueprint.stackfile.cloud_content import Bootstrap
from blueprint.stackfile.physical_networks import datapath_type
from blueprint.stackfile.settings import Ingress, PhysicalNetwork, SecretVersion, SriovDevice
from contract import COMPUTE_POOL
from openstack.config import domains, ports
from openstack.config.data_nodes import DataNode, data_nodes
from openstack.config.layers import Secret
from openstack.config.ports import AMQP, MEMCACHED, MYSQL

ENVIRONMENT = "openstack"
"""The name of a stack's only environment and of its namespace; the stack file cannot define others yet."""

NOTIFICATIONS = "notifications"
"""Name of the RabbitMQ vhost for the notifications of all projects. A program that reads notifications needs no access
to the vhosts of the projects' calls."""
RABBITMQ, GALERA = further_clusters.RABBITMQ, further_clusters.GALERA
Use = Literal["rpc", "notifications"]


@dataclass(frozen=True)
class Wiring:
    """The facts of a plan on which configuration files of processes depend."""

    environment: str
    records: Records
    """The records of all projects that the stack may have."""
    size: int
    """Number of computes of the plan's reference architecture, such as 100, 300, 500 or 1000."""
    instances: Mapping[str, int]
    """Number of instances of every process of the stack, by process name."""
    cores: Mapping[str, float]
    """Cores that an instance requests, by process name."""
    memory: Mapping[str, int]
    """Memory limit of an instance in MiB, by process name."""
    volumes: Mapping[str, int]
    """Size of an instance's volume in GiB, by process name, of processes that have one."""
    ingress: Ingress | None
    """Settings by which clients outside of the cluster reach the services; None if they cannot."""
    bootstrap: Bootstrap | None
    """Flavors, networks and other content that a new cloud gets; None for no content."""
    etcd_members: Mapping[str, str]
    """Address of each member of etcd, by the name of its machine."""
    brokers: tuple[str, ...]
    """Names of all RabbitMQ clusters of the stack, the default cluster first."""
    galeras: tuple[str, ...]
    """Names of all Galera clusters of the stack, the default cluster first."""
    mapping: Mapping[tuple[str, str], str]
    """Name of the cluster that a project uses, by project and use (`rpc`, `notifications` or `database`), if it is not
    the default cluster."""
    secrets: Mapping[str, SecretVersion]
    """Current version of each secret that was replaced at least once, by name."""
    monitors: tuple[str, ...]
    """Addresses of Ceph's monitors: those of the nodes that may run one, or of an external cluster; empty in a stack
    without Ceph."""
    external_ceph: ExternalCeph | None
    """The Ceph cluster outside of the stack that its services use; None if the stack runs its own."""
    physical_networks: Mapping[str, PhysicalNetwork]
    """Physical networks of Neutron by name."""
    datapath_type: str
    """Datapath type of Open vSwitch's bridges, but for nodes of which the stack file says otherwise."""
    distributed_routers: bool
    """Whether Neutron's routers are on every compute too."""
    sriov_devices: Mapping[str, Mapping[str, SriovDevice]]
    """Network cards whose virtual functions virtual machines get, by node and interface; only nodes that have some."""
    host_reserves: Mapping[str, HostReserve]
    """What nova-compute must not offer to tenants, by the name of its node."""
    least_workers: int
    """Least number of worker processes of an instance: two in production, so that a long request does not delay all
    others; one in a lab, where a second one would take 120 MB in each of some 40 containers. Project figures."""
    release: str
    """Release of OpenStack, such as 2026.1."""
    region: str
    """Name of the cloud's only region."""
    networks: Mapping[ClassName, ClassNetwork]
    """Networks beside management, by class."""
    addresses: Mapping[str, Mapping[ClassName, str]]
    """Addresses of nodes in these networks, by the node's name and the class."""
    availability_zones: Mapping[str, tuple[str, ...]]
    """Names of the computes in each availability zone of Nova; empty if the stack file sets none."""
    backend: Backend
    """What connects virtual machines."""
    gateways: frozenset[str]
    """Names of the workloads of ovn-controller whose nodes carry the gateways of routers; empty without OVN."""
    sets_up_machines: bool
    """Whether Quorate sets up the machines: each compute has a certificate for migrations, and each node writes metrics
    of certificates and backups."""
    copies: BackupCopies | None
    """The object store that takes copies of backups; None for no copies."""
    data_nodes: tuple[DataNode, ...]
    """The nodes whose disks have data of services."""

    @cached_property
    def common_reserve(self) -> HostReserve:
        """The reserve that most computes have; if several are as frequent, the smallest."""
        counted = Counter(self.host_reserves.values())
        return min(counted, key=lambda reserve: (-counted[reserve], reserve), default=HostReserve(512, 0))

    @property
    def copied(self) -> tuple[str, ...]:
        """Names of the databases whose backups are put into an object store: each Galera, and etcd; () for none."""
        if self.copies is None:
            return ()
        return (*self.galeras, "etcd") if self.sets_up_machines else self.galeras

    def host(self, process: str) -> str:
        """Returns the DNS name of a process's Service."""
        return f"{process}.{self.environment}.svc"

    def url(self, process: str, path: str = "") -> str:
        """Returns the internal URL of a process with an API."""
        return f"http://{self.host(process)}:{ports.api(self.records, process)}{path}"

    def public_url(self, process: str, path: str = "") -> str:
        """Returns the URL of a process for clients outside of the cluster; without an ingress, the internal URL."""
        if self.ingress is None:
            return self.url(process, path)
        return domains.url(self.ingress, self.records, process, path)

    def members(self, process: str) -> tuple[str, ...]:
        """Returns the stable DNS names of the members of a process that is a StatefulSet."""
        domain = self.host(f"{process}-members")
        return tuple(f"{process}-{ordinal}.{domain}" for ordinal in range(self.instances[process]))

    def has(self, process: str) -> bool:
        """Whether the stack runs an instance of the process."""
        return bool(self.instances.get(process))

    def database(self, user: str, name: str) -> Secret:
        """Returns the SQLAlchemy URL for the database `name` of the project `user`, which connects through ProxySQL."""
        account = self.account(user, "database")
        return Secret(f"{user}/database", f"mysql+pymysql://{account}:{{}}@{self.proxy(user)}:{MYSQL}/{name}")

    def galera(self, project: str) -> str:
        """Returns the name of the Galera cluster that has a project's databases."""
        return self.mapping.get((project, "database"), GALERA.definition)

    def users(self, galera: str) -> tuple[str, ...]:
        """Returns the projects whose databases a Galera cluster has.

        The account of a project has the project's name, and is configured in the ProxySQL of its Galera.
        """
        found = (name for name, record in self.records.by_name.items() if record.databases)
        return tuple(project for project in found if self.galera(project) == galera)

    def proxy(self, project: str) -> str:
        """Returns the DNS name of the ProxySQL in front of a project's databases."""
        return self.host(beside_galera("proxysql", self.galera(project)))

    def broker(self, project: str, use: Use) -> str:
        """Returns the name of the RabbitMQ cluster that carries a project's calls (`rpc`) or notifications."""
        return self.mapping.get((project, use), RABBITMQ.definition)

    def messaging(self, user: str) -> Secret:
        """Returns the transport URL of the project's own vhost, with all members of the project's RabbitMQ cluster."""
        return self._transport(self.broker(user, "rpc"), user, "messaging", user)

    def notifications(self, user: str) -> Secret:
        """Returns the transport URL for a project's notifications, with its account for the vhost of notifications."""
        return self._transport(self.broker(user, "notifications"), user, "notifications", NOTIFICATIONS)

    def _transport(self, broker: str, user: str, kind: str, vhost: str) -> Secret:
        account = self.account(user, kind)
        members = ",".join(f"{account}:{{}}@{member}:{AMQP}" for member in self.members(broker))
        return Secret(f"{user}/{kind}", f"rabbit://{members}/{vhost}")

    def account(self, user: str, kind: str, generation: int | None = None) -> str:
        """Returns the name of a project's account for a generation of its password; None for the current generation.

        `kind`: database, messaging, notifications or identity. Each generation has an account of its own, so that the
        previous account stays valid while services restart with the new one.
        """
        generation = generation or self._generation(user, kind)
        name = f"{user}-notifications" if kind == "notifications" else user
        return name if generation == 1 else f"{name}_g{generation}"

    def previous(self, user: str, kind: str) -> int | None:
        """Returns the previous generation of a project's password if its account is still valid, otherwise None."""
        version = self.secrets.get(f"{user}/{kind}")
        return version.generation - 1 if version and version.previous == "kept" else None

    def removed(self, user: str, kind: str) -> tuple[str, ...]:
        """Returns the names of a project's accounts whose generations are no longer valid; () if there are none."""
        oldest = self.previous(user, kind) or self._generation(user, kind)
        return tuple(self.account(user, kind, generation) for generation in range(1, oldest))

    def _generation(self, user: str, kind: str) -> int:
        version = self.secrets.get(f"{user}/{kind}")
        return version.generation if version else 1

    def caches(self) -> tuple[str, ...]:
        """Returns the addresses of all memcached instances; () without memcached.

        Clients choose an instance by the key.
        """
        return tuple(f"{member}:{MEMCACHED}" for member in self.members("memcached")) if self.has("memcached") else ()

    def workers(self, process: str, least: int = 1) -> int:
        """Returns the number of worker processes of a process's instance: one per requested core.

        There are at least `least` and at least `least_workers`.
        """
        return max(least, self.least_workers, round(self.cores[process]))


def wiring(plan: Plan, environment: str) -> Wiring:
    """Returns the facts of a plan on which configuration files depend. `environment`: name of the cloud's namespace."""
    return Wiring(
        environment,
        plan.settings.records,
        plan.architecture.computes,
        {process.name: process.instances for process in plan.processes},
        {process.name: plan.sizes[process.name].cpu_m / 1000 for process in plan.processes},
        {process.name: plan.sizes[process.name].limit_memory_mi for process in plan.processes},
        dict(_volumes(plan)),
        plan.settings.ingress,
        plan.settings.bootstrap,
        {member.name: member.address for member in plan.members},
        _clusters(plan, RABBITMQ),
        _clusters(plan, GALERA),
        further_clusters.mapping(plan.settings),
        plan.settings.secrets,
        tuple(_monitors(plan)),
        plan.settings.external_ceph,
        plan.settings.networks.physical,
        datapath_type(plan.settings, None),
        plan.settings.networks.distributed_routers,
        {node.name: found for node in plan.nodes if (found := sriov.devices(plan.settings, node.name))},
        host_reserves(plan),
        1 if plan.settings.is_lab else 2,
        plan.settings.release,
        plan.settings.region,
        plan.settings.networks.classes,
        {node.name: node.machine.addresses for node in plan.nodes},
        availability_zones.hosts(plan.settings.bootstrap, plan.processes, plan.nodes),
        plan.settings.networks.backend,
        frozenset(_gateways(plan)),
        not plan.settings.has_existing_machines,
        plan.settings.backups.copies,
        data_nodes(plan),
    )


def beside_galera(process: str, galera: str) -> str:
    """Returns the name of a process beside a Galera cluster: proxysql or mysqld-exporter, with the cluster's prefix."""
    return further_clusters.companion(process, galera, GALERA)


def _clusters(plan: Plan, kind: further_clusters.ClusterKind) -> tuple[str, ...]:
    return tuple(process.name for process in plan.processes if process.process == kind.definition)


def _volumes(plan: Plan) -> Iterator[tuple[str, int]]:
    for process in plan.processes:
        definition = plan.settings.records.processes.get(process.process)
        if definition and definition.claim:
            yield process.name, definition.claim.size(plan.settings.profile)


def _gateways(plan: Plan) -> Iterator[str]:
    """Yields the workloads on the nodes of Neutron's server or, if these are the computes, the only one."""
    for entry in plan.processes:
        if entry.name == CONTROLLER:
            parts = entry.parts(plan.nodes)
            yield from (name for name, part in parts if len(parts) == 1 or COMPUTE_POOL not in part.pools)


def _monitors(plan: Plan) -> Iterator[str]:
    if plan.settings.external_ceph:
        yield from plan.settings.external_ceph.monitors
        return
    pools = {pool for entry in plan.processes if entry.name == "ceph-mon" for pool in entry.pools}
    yield from (node.address for node in plan.nodes if node.pool in pools)
