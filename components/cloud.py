"""The whole cloud: virt hosts with their virtual machines, the master tier, machines, and the OpenStack environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.inventory import is_made
from components import machine_files, workers
from components.component import Component, Facts, plain
from components.k8s_master import MasterTier
from components.k8s_master.pki import Pki
from components.machine import MachineComponent, MachinePool, start
from components.openstack.environment import Environment, EnvironmentArgs
from components.secrets import Keyring
from components.target import Target
from components.virt_host import VirtHost, VirtHostArgs
from contract import COMPUTE_POOL
from openstack.config.wiring import ENVIRONMENT


@dataclass(frozen=True)
class CloudArgs:
    """A stack's finished plan, and the target (rendered files or a live cluster) on which the plan is built."""

    plan: Plan
    stack: str
    target: Target
    root_secret: pulumi.Output[str] | None
    """The secret from which all other secrets of the cloud are derived; None in a preview without the passphrase."""
    given_secrets: pulumi.Output[dict[str, str]] | None = None
    """Values of the secrets that other systems gave, by name; None if the stack has none."""

    @property
    def certificates(self) -> Pki:
        """The certificates of etcd and Kubernetes."""
        keyring = Keyring("kubernetes", self.root_secret, given=self.given_secrets)
        return Pki(keyring, self.plan.settings.certificates)


@dataclass(frozen=True)
class Tier:
    """Machines that are changed one after the other: those of role etcd, or the masters."""

    name: str
    """Part of the names of their resources."""
    parent: Component[Any]
    """Parent of the physical machines."""
    nodes: Sequence[Node]


@dataclass(frozen=True)
class Guests:
    """The virt hosts by name, and the resources of the virtual machines that the target makes on them by node.

    The virtual machines are in the order of their restarts.
    """

    hosts: Mapping[str, VirtHost]
    made: Mapping[str, Sequence[pulumi.Resource]]

    @property
    def ready(self) -> Sequence[pulumi.Resource]:
        """What every machine waits for, so that no restart meets a change of a machine: the last depends on all."""
        return list(self.made.values())[-1] if self.made else []

    def before(self, node: Node) -> list[pulumi.Resource]:
        """What a node's machine waits for.

        It depends on its own virtual machine directly: Pulumi orders deletions by direct dependencies between the
        resources that it deletes, and a member must leave its quorum before its virtual machine is removed.
        """
        return [*self.ready, *self.made.get(node.name, ())]


class Cloud(Component[CloudArgs]):
    """The root component, parent of all resources of a stack."""

    token = contract.CLOUD

    @staticmethod
    def facts(args: CloudArgs) -> Facts:
        plan = args.plan
        return plain(
            profile=plan.settings.profile,
            architecture=plan.architecture.name,
            release=plan.settings.release,
            target=plan.settings.target,
            machines=plan.settings.machines,
            features=plan.settings.features,
            acknowledged=plan.settings.acknowledged,
            computes=len(plan.carrying(COMPUTE_POOL)),
            **({"ceph": contract.EXTERNAL} if plan.settings.external_ceph else {}),
            **({"networks": contract.OVN} if plan.settings.has_ovn else {}),
            stack=args.stack,
        )

    def build(self, name: str, args: CloudArgs) -> None:
        guests = self._guests(name, args, self._virt_hosts(name, args))
        masters = self._masters(name, args, guests)
        # Masters are finished one after the other, so that the last one stands for all of them.
        self._machines(name, args, guests, masters[-1:])
        self._environment(name, args)

    def _virt_hosts(self, name: str, args: CloudArgs) -> dict[str, VirtHost]:
        """Creates the virt hosts. Returns them by the server's name."""
        opts = self.child(protect=_is_protected(args))
        return {
            host.name: VirtHost(
                f"{name}-{host.name}",
                VirtHostArgs(host, [each for each in args.plan.machines if each.virtual and each.server == host.name]),
                opts,
            )
            for host in args.plan.hosts
        }

    def _guests(self, name: str, args: CloudArgs, hosts: Mapping[str, VirtHost]) -> Guests:
        """Makes the virtual machines that the target makes. They restart one after the other."""
        last: Sequence[pulumi.Resource] = []
        found: dict[str, Sequence[pulumi.Resource]] = {}
        for node in args.plan.machines:
            if is_made(node.machine, args.plan.settings):
                vm = machine_files.virtual_machine(args.plan, node, args.certificates)
                opts = hosts[node.server].child(protect=_is_protected(args))
                last = args.target.virtual_machine(f"{name}-{node.server}-{node.name}", vm, last, opts)
                found[node.name] = last
        return Guests(hosts, found)

    def _masters(self, name: str, args: CloudArgs, guests: Guests) -> list[MachineComponent]:
        """Creates the master tier: machines of role etcd, then the masters."""
        tier = MasterTier(f"{name}-masters", args.plan, self.child())
        members = self._in_turn(name, args, guests, Tier("masters-etcd", tier.etcd, args.plan.etcd_machines))
        masters = Tier("masters", tier, args.plan.masters)
        return self._in_turn(name, args, guests, masters, members[-1:])

    def _in_turn(
        self,
        name: str,
        args: CloudArgs,
        guests: Guests,
        tier: Tier,
        after: Sequence[pulumi.Resource] = (),
    ) -> list[MachineComponent]:
        """Creates the machines of a tier, which are changed one after the other. `after`: awaited by all."""
        machines = [machine_files.arguments(args.plan, node, args.target, args.certificates) for node in tier.nodes]
        # etcd's members are started at the same time, because each waits for a majority.
        started = [
            each
            for machine in machines
            for each in start(
                f"{name}-{tier.name}-{machine.node.name}",
                machine,
                tier.parent.child(depends_on=[*guests.before(machine.node), *after]),
            )
        ]
        found: list[MachineComponent] = []
        for machine in machines:
            node = machine.node
            parent = guests.hosts[node.server] if node.virtual else tier.parent
            opts = parent.child(depends_on=[*guests.before(node), *after, *started, *found[-1:]])
            found.append(
                MachineComponent(f"{name}-{node.server if node.virtual else tier.name}-{node.name}", machine, opts)
            )
        return found

    def _machines(self, name: str, args: CloudArgs, guests: Guests, masters: Sequence[MachineComponent]) -> None:
        """Creates the other Kubernetes nodes, which join the cluster of the `masters`, and so wait for them."""
        after = [*guests.ready, *masters]
        for node in args.plan.nodes:
            if node.virtual and node not in args.plan.masters:
                guest = machine_files.arguments(args.plan, node, args.target, args.certificates)
                opts = guests.hosts[node.server].child(depends_on=[*guests.before(node), *masters])
                MachineComponent(f"{name}-{node.server}-{node.name}", guest, opts)
        for node in workers.alone(args.plan):
            single = machine_files.arguments(args.plan, node, args.target, args.certificates)
            MachineComponent(f"{name}-{node.name}", single, self.child(depends_on=after))
        for pool, nodes in workers.pools(args.plan).items():
            arguments = machine_files.pool_arguments(args.plan, nodes, args.target, args.certificates)
            MachinePool(f"{name}-{pool}", arguments, self.child(depends_on=after))

    def _environment(self, name: str, args: CloudArgs) -> None:
        arguments = EnvironmentArgs(ENVIRONMENT, args.plan, args.target, args.root_secret, args.given_secrets)
        providers = pulumi.ResourceOptions(providers=[args.target.kubernetes])
        opts = pulumi.ResourceOptions.merge(self.child(), providers)
        Environment(f"{name}-{ENVIRONMENT}", arguments, opts)


def _is_protected(args: CloudArgs) -> bool:
    """Whether virt hosts and their virtual machines are protected from deletion. Labs are disposable."""
    return not args.plan.settings.is_lab
