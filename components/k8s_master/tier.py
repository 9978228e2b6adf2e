"""The master tier as components: its masters, the members of etcd, Calico's route reflectors.

Etcd and Calico create no resources: their files belong to the machines that carry them. They are components only to
register facts, which policy rules evaluate. Physical machines of role etcd are children of Etcd.
"""

from __future__ import annotations

from typing import Any

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.component import Component, Facts, plain
from components.k8s_master import (
    api_proxy,
    backup_copies,
    calico,
    calico_objects,
    dns,
    etcd,
    etcd_clients,
    external_etcd,
    kubeadm,
    node_dns,
)
from components.k8s_master.pki import Pki
from components.k8s_master.versions import kubernetes
from components.machine import Parts


class Etcd(Component[Plan]):
    """The members of etcd: one on each machine of role etcd or, without such machines, on each master."""

    token = contract.ETCD

    @staticmethod
    def facts(args: Plan) -> Facts:
        members = [{"node": node.name, "server": node.server, "address": node.address} for node in args.members]
        return plain(members=members)

    def build(self, name: str, args: Plan) -> None:
        """Creates no resources: the files of etcd's members belong to their machines."""


class Calico(Component[Plan]):
    """Calico, the network of the cluster's pods, with its route reflectors."""

    token = contract.CALICO

    @staticmethod
    def facts(args: Plan) -> Facts:
        reflectors = [node.name for node in calico_objects.route_reflectors(args)]
        return plain(route_reflectors=reflectors, datastore=calico.DATASTORE)

    def build(self, name: str, args: Plan) -> None:
        """Creates no resources: Calico's files belong to the masters' machines."""


class MasterTier(Component[Plan]):
    """The master tier: etcd and Calico. Its further children are the machines of masters on physical servers."""

    token = contract.MASTER_TIER

    @staticmethod
    def facts(args: Plan) -> Facts:
        masters: list[dict[str, Any]] = [
            {"node": node.name, "server": node.server, "rack": node.rack or "", "address": node.address}
            for node in args.masters
        ]
        generations = args.settings.certificates.recorded
        return plain(masters=masters, version=kubernetes(args), **({"generations": generations} if generations else {}))

    def build(self, name: str, args: Plan) -> None:
        self.etcd = Etcd(f"{name}-etcd", args, self.child())
        if calico.is_installed(args):
            self.calico = Calico(f"{name}-calico", args, self.child())


def master_parts(plan: Plan, master: Node, certificates: Pki) -> Parts:
    """Returns the files and steps that only a master has: etcd, kubeadm, Calico and CoreDNS."""
    if master in plan.members:
        store = member_parts(plan, master, certificates)
    else:
        store = external_etcd.parts(plan.members, certificates, kubeadm.BEGUN)
    kubernetes = kubeadm.parts(plan, master, certificates) + etcd_clients.parts(plan, master)
    names = dns.parts(plan, master) + node_dns.addon(plan, master)
    return store + kubernetes + calico.parts(plan, master) + names


def member_parts(plan: Plan, machine: Node, certificates: Pki) -> Parts:
    """Returns the files and steps of a member of etcd. A machine of role etcd has nothing else."""
    copies = backup_copies.parts(plan.settings.backups.copies, certificates.keyring)
    return etcd.parts(machine, plan.members, certificates) + copies


def proxy_parts(plan: Plan) -> Parts:
    """Returns the files and the step of the proxy to the API servers, for machines other than masters."""
    return api_proxy.parts(plan.masters, plan.settings.images, plan.settings.api_proxy)
