"""The whole cloud: virt hosts with their virtual machines, the master tier, machines, and the OpenStack environment."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

import contract
from blueprint.plan.planner import Plan
from components import machine_files, workers
from components.component import Component, Facts, plain
from components.k8s_master import MasterTier, MasterTierArgs
from components.machine import Machine, MachinePool, Turns
from components.openstack.config.wiring import ENVIRONMENT
from components.openstack.environment import Environment, EnvironmentArgs
from components.target import Target
from components.virt_host import VirtHost, VirtHostArgs
from contract import COMPUTE_POOL


@dataclass(frozen=True)
class CloudArgs:
    """A stack's finished plan, and the target (rendered files or a live cluster) on which the plan is built."""

    plan: Plan
    stack: str
    target: Target
    root_secret: pulumi.Output[str] | None
    """The secret from which all other secrets of the cloud are derived; None in a preview without the passphrase."""


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
            stack=args.stack,
        )

    def build(self, name: str, args: CloudArgs) -> None:
        turns = Turns()
        hosts = self._virt_hosts(name, args, turns)
        self._master_tier(name, args, hosts, turns)
        self._machines(name, args)
        self._environment(name, args)

    def _virt_hosts(self, name: str, args: CloudArgs, turns: Turns) -> list[VirtHost]:
        hosts: list[VirtHost] = []
        for host in args.plan.hosts:
            nodes = (node for node in args.plan.nodes if node.virtual and node.server == host.name)
            guests = [machine_files.arguments(args.plan, node, args.target) for node in nodes]
            arguments = VirtHostArgs(host, guests, turns)
            # In production a host is protected, because deleting it deletes its virtual machines; labs are disposable.
            opts = self.child(protect=args.plan.settings.profile == "production")
            hosts.append(VirtHost(f"{name}-{host.name}", arguments, opts))
        return hosts

    def _master_tier(self, name: str, args: CloudArgs, hosts: list[VirtHost], turns: Turns) -> MasterTier:
        servers = (master for master in args.plan.masters if not master.virtual)
        machines = [machine_files.arguments(args.plan, master, args.target) for master in servers]
        return MasterTier(f"{name}-masters", MasterTierArgs(args.plan, machines, turns), self.child(depends_on=hosts))

    def _machines(self, name: str, args: CloudArgs) -> None:
        for node in workers.alone(args.plan):
            Machine(f"{name}-{node.name}", machine_files.arguments(args.plan, node, args.target), self.child())
        for pool, nodes in workers.pools(args.plan).items():
            MachinePool(f"{name}-{pool}", machine_files.pool_arguments(args.plan, nodes, args.target), self.child())

    def _environment(self, name: str, args: CloudArgs) -> None:
        arguments = EnvironmentArgs(ENVIRONMENT, args.plan, args.target, args.root_secret)
        Environment(f"{name}-{ENVIRONMENT}", arguments, self.child())
