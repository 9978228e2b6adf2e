"""The master tier as components: its masters, the members of etcd, Calico's route reflectors.

Etcd and Calico have no resources of their own here: their files are the masters' (one resource a machine). They are
components for their facts, which rules about quorum judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components.component import Component, Facts, plain
from components.k8s_master import api_proxy, calico, dns, etcd, kubeadm
from components.k8s_master.versions import KUBERNETES
from components.machine import MachineArgs
from components.target import Target


@dataclass(frozen=True)
class MasterTierArgs:
    """The plan, and the files of the masters that are servers: virtual ones belong to their host."""

    plan: Plan
    files: dict[str, dict[str, str]]
    target: Target


class Etcd(Component[Sequence[Node]]):
    """The members of etcd, one on each master."""

    token = contract.ETCD

    @staticmethod
    def facts(args: Sequence[Node]) -> Facts:
        return plain(members=[{"node": node.name, "server": node.server, "address": node.address} for node in args])

    def build(self, name: str, args: Sequence[Node]) -> None:
        """Nothing: the members' files are their machines'."""


class Calico(Component[Plan]):
    """The pods' network."""

    token = contract.CALICO

    @staticmethod
    def facts(args: Plan) -> Facts:
        reflectors = [node.name for node in calico.route_reflectors(args)]
        return plain(route_reflectors=reflectors, datastore=calico.DATASTORE)

    def build(self, name: str, args: Plan) -> None:
        """Nothing: its files are the masters'."""


class MasterTier(Component[MasterTierArgs]):
    """The masters, with etcd and Calico."""

    token = contract.MASTER_TIER
    machines: dict[str, pulumi.Resource]

    @staticmethod
    def facts(args: MasterTierArgs) -> Facts:
        masters: list[dict[str, Any]] = [
            {"node": node.name, "server": node.server, "rack": node.rack or "", "address": node.address}
            for node in args.plan.masters
        ]
        return plain(masters=masters, version=KUBERNETES)

    def build(self, name: str, args: MasterTierArgs) -> None:
        self.machines = {
            master.name: args.target.machine(
                f"{name}-{master.name}", MachineArgs(master, args.files[master.name]), self.child()
            )
            for master in args.plan.masters
            if not master.virtual
        }
        self.etcd = Etcd(f"{name}-etcd", args.plan.masters, self.child())
        self.calico = Calico(f"{name}-calico", args.plan, self.child())


def master_files(plan: Plan, master: Node) -> dict[str, str]:
    """Templates that a master has beside those of every machine."""
    return etcd.files(master, plan.masters) | kubeadm.files(plan, master) | calico.files(plan) | dns.files(plan, master)


def worker_files(plan: Plan) -> dict[str, str]:
    """Templates that every other machine has."""
    return api_proxy.files(plan.masters, plan.settings.images.digests)
