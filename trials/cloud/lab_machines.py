"""The machines of a stack as containers of this machine: names, servers, addresses and directories.

A virtual machine belongs to its server: a server that loses power takes its virtual machines along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from blueprint.plan.nodes import Capacity
from blueprint.plan.plan import Plan
from blueprint.stackfile.class_networks import ClassNetwork
from console.errors import UserError
from contract import STORAGE_POOL

DIRECTORY = Path("/var/lib/quorate-lab")
"""One lab for each host: its namespaces and cgroups have names of their own on the whole host."""
POD_PREFIX = 24
"""Prefix of a machine's share of the pods' network: 254 pods; kubelet starts 110."""
MOST_MACHINES = 40
"""Project figure: 15 machines need about 16 GiB."""


@dataclass(frozen=True)
class LabMachine:
    """A physical server or a virtual machine of the stack."""

    name: str
    server: str
    """The physical server that carries it; its own name for a physical server."""
    address: IPv4Address
    pods: IPv4Network
    capacity: Capacity
    """Cores and memory of the stack file, which kubelet reports in place of the host's."""
    cores: int
    """Those of its cores that its virtual machines do not have."""
    is_node: bool
    """Whether it is a Kubernetes node; a machine of role etcd is none."""
    is_master: bool
    has_member: bool
    """Whether it has a member of etcd."""
    has_disk: bool
    """Whether it stores objects: it gets a disk for Ceph."""
    directory: Path
    """Root file system and volumes."""
    tree: Path
    """The rendered directory of the machine, with `apply`."""
    secrets: Path
    """The rendered secret files of the machine; they may not exist."""
    overlay: IPv4Interface | None = None
    """Its address in the stack's network of tunnels, if it has one."""


@dataclass(frozen=True)
class Lab:
    """A stack's machines and their networks."""

    stack: str
    machines: tuple[LabMachine, ...]
    management: IPv4Network
    gateway: IPv4Address
    """Address of the switch, and the machines' default route."""
    services: IPv4Network
    """The cluster's network of Services."""
    pods: IPv4Network
    """The cluster's network of pods."""
    calico: Path | None = None
    """Directory of Calico, which then connects the pods. Without it static routes do, and NetworkPolicies are not
    enforced."""
    region: str = "RegionOne"
    """The cloud's region."""
    bridge: str = ""
    """Open vSwitch's bridge of the instances' network, which has the addresses of tunnels."""

    @cached_property
    def servers(self) -> dict[str, tuple[LabMachine, ...]]:
        """The machines of each physical server, by its name."""
        found: dict[str, list[LabMachine]] = {}
        for machine in self.machines:
            found.setdefault(machine.server, []).append(machine)
        return {server: tuple(machines) for server, machines in found.items()}

    @cached_property
    def masters(self) -> tuple[LabMachine, ...]:
        """The Kubernetes masters, in the plan's order: the first initialises the cluster."""
        return tuple(machine for machine in self.machines if machine.is_master)

    @cached_property
    def members(self) -> tuple[LabMachine, ...]:
        """The machines with a member of etcd."""
        return tuple(machine for machine in self.machines if machine.has_member)

    @cached_property
    def nodes(self) -> tuple[LabMachine, ...]:
        """The Kubernetes nodes."""
        return tuple(machine for machine in self.machines if machine.is_node)

    @cached_property
    def workers(self) -> tuple[LabMachine, ...]:
        """All nodes that are not masters."""
        return tuple(machine for machine in self.nodes if not machine.is_master)

    def machine(self, name: str) -> LabMachine:
        """Returns a machine by name. Raises UserError if there is none."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        raise UserError(f"The lab has no machine {name}; it has {', '.join(each.name for each in self.machines)}.")


def lab_of(stack: str, plan: Plan, tree: Path) -> Lab:
    """Returns the lab of a plan, whose rendered tree is `tree`. Raises UserError if it cannot be a lab."""
    if len(plan.machines) > MOST_MACHINES:
        raise UserError(
            f"{stack} has {len(plan.machines)} machines; `make cloud` starts at most {MOST_MACHINES} on one host. "
            "Use a smaller stack, such as STACK=dev."
        )
    management = plan.settings.networks.management
    if management is None:
        raise UserError(f"{stack} has no quorate:networks.management; `make cloud` needs the network of its machines.")
    used = {IPv4Address(node.address) for node in plan.machines}
    gateway = next((address for address in management.hosts() if address not in used), None)
    if gateway is None:
        raise UserError(f"{management} has no address left for the lab's switch; use a larger network.")
    shares = plan.settings.networks.pods.subnets(new_prefix=POD_PREFIX)
    machines = tuple(
        LabMachine(
            name=node.name,
            server=node.server,
            address=IPv4Address(node.address),
            pods=share,
            capacity=Capacity(node.machine.cpu, node.machine.memory),
            cores=node.allocatable.cpu,
            is_node=node.is_kubernetes_node,
            is_master=node in plan.masters,
            has_member=node in plan.members,
            has_disk=STORAGE_POOL in node.roles,
            directory=DIRECTORY / "machines" / node.name,
            tree=tree / "machines" / node.name,
            secrets=tree / "secrets" / "machines" / node.name,
            overlay=_overlay(node.machine.addresses.get("overlay"), plan.settings.networks.overlay),
        )
        for node, share in zip(plan.machines, shares, strict=False)
    )
    networks = plan.settings.networks
    bridge = next(iter(networks.physical.values())).bridge
    region = plan.settings.region
    return Lab(stack, machines, management, gateway, networks.services, networks.pods, region=region, bridge=bridge)


def _overlay(address: str | None, network: ClassNetwork | None) -> IPv4Interface | None:
    return IPv4Interface(f"{address}/{network.cidr.prefixlen}") if address and network else None
