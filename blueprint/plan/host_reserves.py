"""What nova-compute must not offer to tenants on each compute: its virtual machines, its pods, and its system.

Nova subtracts reserved_host_memory_mb and reserved_host_cpus from what it reports to Placement. Its defaults, 512 MB
and no CPU, ignore everything that runs beside tenants' machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from blueprint.openstack import options
from blueprint.plan.assignment import SYSTEM_CPU, SYSTEM_MEMORY
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.service_options import service_options
from blueprint.stackfile.settings import Options

_PROJECT, _COMPUTE = "nova", "nova-compute"
_CPU_SETS = {"cpu_shared_set", "cpu_dedicated_set"}


@dataclass(frozen=True, order=True)
class HostReserve:
    """The part of a compute that is not for tenants."""

    memory: int
    """Memory in MiB."""
    cpu: int
    """CPU in cores, rounded up."""


def host_reserves(plan: Plan) -> Mapping[str, HostReserve]:
    """Returns the reserve of each node with nova-compute, by the node's name.

    The reserve is kubelet's (the node's virtual machines), one pod of each process that may run on the node, by its
    requests, and the system's share with which the plan is checked. At least one core and one GiB are left for tenants.
    It has no CPU on nodes for which the stack file names the CPUs of tenants.
    """
    pools = next((process.pools for process in plan.processes if process.name == _COMPUTE), ())
    return {node.name: _reserve(plan, node) for node in plan.nodes if node.pool in pools}


def _reserve(plan: Plan, node: Node) -> HostReserve:
    # Nova does not start with reserved_host_cpus beside a set of CPUs: the set is the reserve then.
    names_cpus = any(map(_names_cpus, service_options(plan.settings, _PROJECT, _COMPUTE, node.name)))
    pods = [plan.sizes[process.name] for process in plan.processes if node.pool in process.pools]
    memory = node.reserved.memory * 1024 + SYSTEM_MEMORY + sum(pod.memory_mi for pod in pods)
    cpu = node.reserved.cpu + ceil((SYSTEM_CPU + sum(pod.cpu_m for pod in pods)) / 1000)
    machine = node.machine
    return HostReserve(min(memory, (machine.memory - 1) * 1024), 0 if names_cpus else min(cpu, machine.cpu - 1))


def _names_cpus(given: Options) -> bool:
    """Whether options name the CPUs of tenants' machines."""
    names = given.get("nova.conf", {}).get("compute", {})
    return bool(_CPU_SETS & set(map(options.canonical, names)))
