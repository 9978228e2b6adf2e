"""Servers, their virtual machines and the roles they carry.

A virtual machine counts as a server (seed 000, Proposed change), but shares its physical host's fate: `Machine.server`
names the host, and that name is the failure domain everywhere in Quorate. Order is the stack file's; nothing here or
later sorts by name, so that renaming a machine changes nothing but its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import pairwise

from blueprint.patterns import check_name, expand
from blueprint.problems import Problem
from blueprint.stackfile.settings import Disk, Hypervisor, Server, Settings, VirtualMachine

HOST_RESERVE = 4
"""GiB of a virt host that its virtual machines may not take: its own system and libvirt. Ours, unmeasured."""

FEATURE = "reduced-footprint"
"""Virtual machines as control-plane nodes come only where asked for (seed 000: 'introduce new feature group')."""


@dataclass(frozen=True)
class Machine:
    """A server or a virtual machine. `server` is the physical host it lives and dies with: itself, if physical."""

    name: str
    server: str
    address: str
    roles: tuple[str, ...]
    cpu: int
    memory: int
    """GiB."""
    rack: str | None
    hypervisor: Hypervisor | None = None
    """What carries the virtual machines of a virt host, or what this virtual machine is."""
    vm: VirtualMachine | None = None
    disks: tuple[Disk, ...] = ()
    vms: tuple[str, ...] = field(default=())
    """Names of the virtual machines that this server carries."""

    @property
    def virtual(self) -> bool:
        """True for a virtual machine."""
        return self.vm is not None


def machines(settings: Settings) -> tuple[Machine, ...]:
    """Every server and virtual machine, each host before its own virtual machines. Settings must be sound."""
    return tuple(machine for server in settings.servers for machine in _machines_of(server))


def problems(settings: Settings) -> list[Problem]:
    """Everything wrong with the servers taken together; empty for a sound inventory."""
    found: list[Problem] = []
    named: dict[str, list[str]] = defaultdict(list)
    addressed: dict[str, list[str]] = defaultdict(list)
    for index, server in enumerate(settings.servers):
        key = f"quorate:servers[{index}] ({server.name})"
        found += _server_problems(server, key, settings)
        try:
            for machine in _machines_of(server):
                named[machine.name].append(key)
                addressed[machine.address].append(machine.name)
        except ValueError as error:
            found.append(Problem(f"{key}.name", str(error)))
    found += _doubles(named, addressed)
    found += _network_problems(settings, addressed)
    return found


def _machines_of(server: Server) -> Iterator[Machine]:
    names = expand(server.name)
    racks = expand(server.rack) if server.rack else [None]
    for number, name in enumerate(names):
        check_name(name)
        rack = racks[number % len(racks)]
        guests = [_guest(vm, server, number, name, rack) for vm in server.vms]
        yield Machine(
            name=name,
            server=name,
            address=str(server.address + number),
            roles=server.roles,
            cpu=server.cpu,
            memory=server.memory,
            rack=rack,
            hypervisor=server.hypervisor if "virt" in server.roles else None,
            disks=server.disks,
            vms=tuple(guest.name for guest in guests),
        )
        yield from guests


def _guest(vm: VirtualMachine, server: Server, number: int, host: str, rack: str | None) -> Machine:
    names = expand(vm.name) if vm.name else [f"{host}-vm{vm.id}"]
    if len(names) not in (1, len(expand(server.name))):
        raise ValueError(
            f"'{vm.name}' gives {len(names)} names for {len(expand(server.name))} servers; write one for each"
        )
    name = names[number] if len(names) > 1 else names[0]
    check_name(name)
    return Machine(
        name=name,
        server=host,
        address=str(vm.address + number),
        roles=vm.roles,
        cpu=vm.cpu,
        memory=vm.ram,
        rack=rack,
        hypervisor=server.hypervisor,
        vm=vm,
    )


def _server_problems(server: Server, key: str, settings: Settings) -> Iterator[Problem]:
    if not server.roles and settings.topology is None:
        yield Problem(f"{key}.roles", "is empty; write at least one role, or name a topology that gives the roles")
    yield from _role_problems(server.roles, f"{key}.roles")
    virt = "virt" in server.roles
    if server.vms and not virt:
        yield Problem(f"{key}.vms", "virtual machines need a server of role virt; add 'virt' to its roles")
    if (virt or server.vms) and FEATURE not in settings.features:
        yield Problem(
            f"{key}.roles",
            f"virtual machines as servers are the reduced footprint; ask for it with quorate:features: [{FEATURE}] "
            "(seed 000: bad performance, tenants' and control plane's machines side by side)",
        )
    for index, vm in enumerate(server.vms):
        yield from _vm_problems(vm, server, f"{key}.vms[{index}]")
    yield from _sum_problems(server, key)


def _role_problems(roles: Sequence[str], key: str) -> Iterator[Problem]:
    doubled = [role for role, count in Counter(roles).items() if count > 1]
    if doubled:
        yield Problem(key, f"'{doubled[0]}' stands there twice; write it once")
    others = sorted(set(roles) - {"virt", "compute"})
    if "virt" in roles and others:
        yield Problem(
            key,
            f"virt may be mixed with compute only (seed 000), not with {', '.join(others)}; give {others[0]} to a VM",
        )
    elif len(set(roles)) > 1 and others:
        yield Problem(
            key,
            f"{' and '.join(sorted(set(roles)))} on one machine: the reference architectures dedicate machines to a "
            "role (004, 5.3.16); write one role, or carry the other in a virtual machine",
        )


def _vm_problems(vm: VirtualMachine, server: Server, key: str) -> Iterator[Problem]:
    if "virt" in vm.roles:
        yield Problem(f"{key}.roles", "a virtual machine cannot be a virt host itself; write the role of its node")
    yield from _role_problems([role for role in vm.roles if role != "virt"], f"{key}.roles")
    if vm.cpu > server.cpu:
        yield Problem(
            f"{key}.cpu", f"{vm.cpu} virtual CPUs on a server of {server.cpu} cores; write {server.cpu} or less"
        )
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
    if total > most and all(vm.ram <= most for vm in server.vms):
        yield Problem(
            f"{key}.vms",
            f"take {total} GiB together, the server has {server.memory} and keeps {HOST_RESERVE} for itself; "
            f"take {total - most} GiB away or write a larger server",
        )
    ids = [number for number, count in Counter(vm.id for vm in server.vms).items() if count > 1]
    if ids:
        yield Problem(f"{key}.vms", f"id {ids[0]} stands there twice; number them apart")


def _doubles(named: dict[str, list[str]], addressed: dict[str, list[str]]) -> Iterator[Problem]:
    for name, keys in named.items():
        if len(keys) > 1:
            where = " and ".join(dict.fromkeys(keys))
            yield Problem(
                where, f"two machines are named '{name}'; name each once (a member counted twice is no member)"
            )
    for address, names in addressed.items():
        if len(names) > 1 and len(set(names)) > 1:
            yield Problem("quorate:servers", f"{' and '.join(names)} have one address, {address}; give each its own")


def _network_problems(settings: Settings, addressed: dict[str, list[str]]) -> Iterator[Problem]:
    networks = settings.networks
    used = [("pods", networks.pods), ("services", networks.services)]
    if networks.management:
        used.append(("management", networks.management))
    for (first, left), (second, right) in [*pairwise(used), (used[0], used[-1])]:
        if first != second and left.overlaps(right):
            yield Problem(
                f"quorate:networks.{second}", f"{right} overlaps {first} {left}; write networks that lie apart"
            )
    for address, names in addressed.items():
        number = IPv4Address(address)
        if networks.management and number not in networks.management:
            yield Problem(
                "quorate:servers",
                f"{names[0]} has {address}, outside of management {networks.management}; write one inside",
            )
        for name, network in used[:2]:
            if number in network:
                yield Problem(
                    "quorate:servers",
                    f"{names[0]} has {address}, inside of the {name} network {network}; write another",
                )
