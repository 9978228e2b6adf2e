"""Checks entries of `quorate:servers`: their roles, and the sizes of their virtual machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from blueprint.domain_template import memory_of
from blueprint.hypervisor_types import HYPERVISOR_TYPES
from blueprint.problems import Problem
from blueprint.stackfile import domain_options
from blueprint.stackfile.class_networks import ClassName
from blueprint.stackfile.servers import Server, VirtualMachine
from blueprint.stackfile.settings import Settings
from contract import ETCD_ROLE

HOST_RESERVE = 4
"""GiB of memory of a virt host that are reserved for its operating system and libvirt; an estimate."""
LEFT = 1
"""GiB of this reserve that the kernels of virtual machines may not take; an estimate."""
FEATURE = "reduced-footprint"
"""The feature that a stack file must enable for virtual machines as nodes (source 000, "new feature group")."""


def problems(server: Server, key: str, settings: Settings) -> Iterator[Problem]:
    """Yields the problems of the roles and sizes of an entry and of its virtual machines. `key`: the entry's."""
    if not server.roles and settings.topology is None:
        yield Problem(f"{key}.roles", "is empty; write at least one role, or name a topology that gives the roles")
    if settings.topology and (server.pool or any(vm.pool for vm in server.vms)):
        yield Problem(f"{key}.pool", "the topology gives the pools; remove pool")
    yield from _class_problems(server.addresses, f"{key}.addresses", settings)
    yield from _role_problems(server.roles, f"{key}.roles", settings)
    virt = "virt" in server.roles
    if virt and HYPERVISOR_TYPES[server.hypervisor].is_emulated and not settings.is_lab:
        yield Problem(
            f"{key}.hypervisor",
            f"{server.hypervisor} emulates every instruction, so that members of a quorum answer too late; write kvm, "
            "or quorate:profile: lab",
        )
    if server.vms and not virt:
        yield Problem(f"{key}.vms", "virtual machines need a server of role virt; add 'virt' to its roles")
    if (virt or server.vms) and FEATURE not in settings.features:
        yield Problem(
            f"{key}.roles",
            f"virtual machines as servers are the reduced footprint; ask for it with quorate:features: [{FEATURE}] "
            "(source 000: bad performance, tenants' and control plane's machines side by side)",
        )
    for index, vm in enumerate(server.vms):
        yield from _vm_problems(vm, server, f"{key}.vms[{index}]", settings)
    yield from _sum_problems(server, key)


def is_mixed(roles: Sequence[str]) -> bool:
    """Whether a machine has several roles. The role virt does not count: a virt host may also be a compute node."""
    return len(set(roles) - {"virt"}) > 1


def _role_problems(roles: Sequence[str], key: str, settings: Settings) -> Iterator[Problem]:
    doubled = [role for role, count in Counter(roles).items() if count > 1]
    if doubled:
        yield Problem(key, f"'{doubled[0]}' is listed twice; write it once")
    others = sorted(set(roles) - {"virt", "compute"})
    if "virt" in roles and others:
        yield Problem(
            key,
            f"virt may be mixed with compute only (source 000), not with {', '.join(others)}; give {others[0]} to a VM",
        )
    elif ETCD_ROLE in roles and settings.has_existing_machines:
        yield Problem(key, "a running cluster has its etcd; with machines: existing, remove the machines of role etcd")
    elif ETCD_ROLE in roles and is_mixed(roles):
        beside = " and ".join(sorted(set(roles) - {ETCD_ROLE}))
        yield Problem(
            key,
            f"a machine of role etcd is not a Kubernetes node and has no other role; remove {beside}, or remove etcd: "
            "without machines of that role, the masters carry etcd's members",
        )
    elif is_mixed(roles) and not settings.is_lab:
        yield Problem(
            key,
            f"{' and '.join(sorted(set(roles)))} on one machine: the reference architectures dedicate machines to a "
            "role (004, 5.3.16); write one role, carry the other in a virtual machine, or write quorate:profile: lab",
        )


def _class_problems(addresses: Iterable[ClassName], key: str, settings: Settings) -> Iterator[Problem]:
    for name in addresses:
        if name not in settings.networks.classes:
            yield Problem(
                f"{key}.{name}",
                f"the stack has no {name} network; write quorate:networks.{name}, such as {{cidr: 10.21.0.0/16}}, or "
                "remove the address",
            )


def _vm_problems(vm: VirtualMachine, server: Server, key: str, settings: Settings) -> Iterator[Problem]:
    if vm.host_key and settings.virt and settings.virt.image_for(HYPERVISOR_TYPES[server.hypervisor]):
        yield Problem(f"{key}.hostKey", "Quorate makes this machine, and its host key from the root secret; remove it")
    if "virt" in vm.roles:
        yield Problem(f"{key}.roles", "a virtual machine cannot be a virt host itself; write the role of its node")
    yield from _class_problems(vm.addresses, f"{key}.addresses", settings)
    yield from _role_problems([role for role in vm.roles if role != "virt"], f"{key}.roles", settings)
    if vm.cpu > server.cpu:
        yield Problem(
            f"{key}.cpu", f"{vm.cpu} virtual CPUs on a server of {server.cpu} cores; write {server.cpu} or less"
        )
    yield from domain_options.problems(vm, server, key, settings)
    most = server.memory - HOST_RESERVE
    if vm.ram > most:
        yield Problem(
            f"{key}.ram",
            f"{vm.ram} GiB do not fit its host: it has {server.memory} GiB and keeps {HOST_RESERVE}; "
            f"write {max(most, 1)} or less",
        )


def _sum_problems(server: Server, key: str) -> Iterator[Problem]:
    total = sum(vm.ram for vm in server.vms)
    most = server.memory - HOST_RESERVE
    if server.vms and total > most and all(vm.ram <= most for vm in server.vms):
        yield Problem(
            f"{key}.vms",
            f"take {total} GiB together, the server has {server.memory} and keeps {HOST_RESERVE} for itself; "
            f"remove {total - most} GiB or write a larger server",
        )
    extra = sum(memory_of(vm.ram) - vm.ram * 1024 for vm in server.vms) / 1024
    if HYPERVISOR_TYPES[server.hypervisor].has_own_kernel and total <= most and total + extra > server.memory - LEFT:
        yield Problem(
            f"{key}.vms",
            f"take {total} GiB and their kernels {extra:.1f} more, of the server's {server.memory}; leave {LEFT} for "
            "the server: write fewer or smaller virtual machines",
        )
    ids = [number for number, count in Counter(vm.id for vm in server.vms).items() if count > 1]
    if ids:
        yield Problem(f"{key}.vms", f"id {ids[0]} is used twice; give each its own id")
