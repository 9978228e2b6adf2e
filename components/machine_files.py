"""Collects the files and steps of a machine from other modules, by its kind: master, etcd machine or worker."""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components import compute_certificate, joining, k8s_master, kubelet, machine_metrics, preparation, virt_host
from components.k8s_master import kubernetes_authority, node_dns, node_loss
from components.k8s_master.pki import Pki
from components.machine import MachineArgs, MachinePoolArgs, Parts
from components.openstack import directories
from components.target import GuestMachine, Target
from components.virt_host import restarts
from contract import COMPUTE_POOL, MASTER_POOL


def parts(plan: Plan, node: Node, certificates: Pki) -> Parts:
    """Returns the files and steps of a node."""
    return _parts(plan, [node], certificates)


def _parts(plan: Plan, nodes: Sequence[Node], certificates: Pki) -> Parts:
    """Returns the files and steps of a pool's nodes. The files are templates, which are the same for all nodes."""
    node = nodes[0]
    prepared = preparation.parts(plan, node, certificates.keyring)
    if not node.is_kubernetes_node:
        return prepared + k8s_master.member_parts(plan, node, certificates)
    found = prepared + kubelet.parts(node) + node_loss.parts(plan) + node_dns.parts() + directories.parts(plan, node)
    found += machine_metrics.parts(plan, node)
    if COMPUTE_POOL in node.roles:
        found += compute_certificate.parts(plan, nodes, certificates)
    if MASTER_POOL in node.roles:
        return found + k8s_master.master_parts(plan, node, certificates)
    files = (*certificates.discovery_file(plan.masters[0]), kubelet.join_file(node))
    found += k8s_master.proxy_parts(plan) + Parts(files, (joining.step(plan.masters), joining.USE_PROXY))
    return found + kubernetes_authority.node_parts(plan, joining.USE_PROXY.name)


def arguments(plan: Plan, node: Node, target: Target, certificates: Pki) -> MachineArgs:
    """Returns the arguments of one machine's component. A machine of a running cluster gets neither files nor steps."""
    if plan.settings.has_existing_machines:
        return MachineArgs(node, Parts(), target, existing=True)
    return MachineArgs(node, parts(plan, node, certificates), target, virt_host.files(node, plan.settings.template))


def virtual_machine(plan: Plan, node: Node, certificates: Pki) -> GuestMachine:
    """Returns the description of a virtual machine or system container, for a target."""
    if node.machine.vm is None:
        raise ValueError(f"{node.name} is not a virtual machine")
    quorums = sorted(parts(plan, node, certificates).quorums)
    definition = virt_host.files(node, plan.settings.template)
    return GuestMachine(node, definition, node.machine.vm.disk, restarts.of(node, quorums, plan.masters))


def pool_arguments(plan: Plan, nodes: Sequence[Node], target: Target, certificates: Pki) -> MachinePoolArgs:
    """Returns the arguments of the component for a pool of identical workers."""
    if plan.settings.has_existing_machines:
        return MachinePoolArgs(nodes, Parts(), target, existing=True)
    return MachinePoolArgs(nodes, _parts(plan, nodes, certificates), target)
