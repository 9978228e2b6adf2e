"""What a machine is given, by what it is: a master, a worker, a virtual machine.

Collects the files and steps of the parts that own them; decides nothing else.
"""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components import k8s_master, kubelet, virt_host
from components.machine import MachineArgs, Parts
from components.openstack import directories
from components.target import Target
from contract import MASTER_POOL


def parts(plan: Plan, node: Node) -> Parts:
    """Files and steps of a node, whose files are templates: the same for all nodes of a pool."""
    found = kubelet.parts(node) + directories.parts(plan, node)
    if MASTER_POOL in node.roles:
        return found + k8s_master.master_parts(plan, node)
    return found + k8s_master.proxy_parts(plan) + kubelet.worker_parts(node)


def arguments(plan: Plan, node: Node, target: Target) -> MachineArgs:
    """Everything that makes one machine."""
    return MachineArgs(node, parts(plan, node), target, virt_host.files(node, plan.settings.template))
