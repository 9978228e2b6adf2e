"""Which files a machine has, by what it is: a master, a worker, a virtual machine.

Collects them from the parts that own them; decides nothing else. For a pool of workers the same templates go to the
resource itself, which fills them node by node.
"""

from __future__ import annotations

from blueprint.plan.nodes import Node
from blueprint.plan.planner import Plan
from components import documents, k8s_master, kubelet, virt_host
from components.machine import variables
from components.openstack import directories
from contract import MASTER_POOL


def templates(plan: Plan, node: Node) -> dict[str, str]:
    """What the node has as a member of the Kubernetes cluster."""
    common = kubelet.files(node) | directories.files(plan, node)
    if node.pool == MASTER_POOL:
        return common | k8s_master.master_files(plan, node)
    return common | kubelet.join(node) | k8s_master.worker_files(plan)


def files(plan: Plan, node: Node) -> dict[str, str]:
    """All files of one machine."""
    filled = documents.fill(templates(plan, node), variables(node))
    return filled | virt_host.files(node, plan.settings.template)
