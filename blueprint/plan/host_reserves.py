"""What nova-compute must not offer to tenants on each compute: its virtual machines, its pods, and its system.

Nova subtracts reserved_host_memory_mb and reserved_host_cpus from what it reports to Placement. Its defaults, 512 MB
and no CPU, ignore everything that runs beside tenants' machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from blueprint.openstack import options
from blueprint.plan.assignment import SYSTEM_CPU, SYSTEM_MEMORY
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.service_options import service_options
from blueprint.stackfile.settings import Options
from blueprint.stackfile.virt import cpu_numbers, cpu_ranges

_PROJECT, _COMPUTE = "nova", "nova-compute"
_CPU_SETS = {"cpu_shared_set", "cpu_dedicated_set"}


@dataclass(frozen=True, order=True)
class HostReserve:
    """The part of a compute that is not for tenants."""

    memory: int
    """Memory in MiB."""
    cpu: int
    """CPU in cores, rounded up; 0 if the CPUs of tenants are named."""
    shared: str = ""
    """The CPUs of tenants, as Nova reads them, such as 2-7,16-31; "" if tenants may use all."""


def host_reserves(plan: Plan) -> Mapping[str, HostReserve]:
    """Returns the reserve of each node with nova-compute, by the node's name.

    The reserve is kubelet's (the node's virtual machines), one pod of each process that may run on the node, by its
    requests, and the system's share with which the plan is checked. At least one core and one GiB are left for tenants.
    It has no CPU on nodes for which the stack file names the CPUs of tenants. On hosts of pinned virtual machines, it
    names the CPUs of tenants itself: those that are left beside the pinned ones.
    """
    pools = next((process.pools for process in plan.processes if process.name == _COMPUTE), ())
    machines = {node.name: node.machine for node in plan.machines}
    return {
        node.name: _reserve(plan, node, [machines[name] for name in node.machine.vms])
        for node in plan.nodes
        if node.pool in pools
    }


def _reserve(plan: Plan, node: Node, guests: Sequence[Machine]) -> HostReserve:
    pods = [plan.sizes[process.name] for process in plan.processes if process.may_use(node)]
    memory = node.reserved.memory * 1024 + SYSTEM_MEMORY + sum(pod.memory_mi for pod in pods)
    cpu = node.reserved.cpu + ceil((SYSTEM_CPU + sum(pod.cpu_m for pod in pods)) / 1000)
    machine = node.machine
    memory = min(memory, (machine.memory - 1) * 1024)
    given = list(service_options(plan.settings, _PROJECT, _COMPUTE, node.name))
    # Nova does not start with reserved_host_cpus beside a set of CPUs: the set is the reserve then.
    if any(_CPU_SETS & _names(each, "compute") for each in given):
        return HostReserve(memory, 0)
    if not any("reserved_host_cpus" in _names(each, "DEFAULT") for each in given) and (
        shared := _shared(machine, cpu, guests)
    ):
        return HostReserve(memory, 0, shared)
    return HostReserve(memory, min(cpu, machine.cpu - 1))


def _names(given: Options, section: str) -> set[str]:
    """Returns the names of the options in a section of nova.conf."""
    return set(map(options.canonical, given.get("nova.conf", {}).get(section, {})))


def _shared(machine: Machine, reserve: int, guests: Sequence[Machine]) -> str:
    """Returns the CPUs of tenants on a host of pinned virtual machines: the last of those that are left.

    The first ones are for the rest of the reserve, because CPU 0 has most interrupts. Returns "" if no virtual machine
    is pinned, or if the pinned ones have all CPUs.
    """
    pinned = {cpu for guest in guests if guest.vm and guest.vm.numa for cpu in cpu_numbers(guest.vm.numa.cpus)}
    left = [cpu for cpu in range(machine.cpu) if cpu not in pinned]
    if not pinned or not left:
        return ""
    virtual = sum(guest.cpu for guest in guests if guest.vm and guest.vm.numa)
    # A virtual machine may have more virtual CPUs than the CPUs that it is pinned to, or fewer.
    others = reserve - min(virtual, machine.cpu - len(left))
    return cpu_ranges(left[min(others, len(left) - 1) :])
