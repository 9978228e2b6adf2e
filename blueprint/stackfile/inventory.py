"""Reads a stack's servers and virtual machines from its settings, and checks their names and addresses.

A virtual machine can have the roles of a server (source 000, Proposed change), but it fails together with its physical
host. `Machine.server` is the name of the physical host, which is the failure domain.

The number in a server's name determines the address and rack of the server and of its virtual machines, so that adding
or removing a server of a pattern changes no other server. Machines are sorted by address, so that the order of entries
in the stack file has no effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from socket import inet_aton

from blueprint.hypervisor_types import HYPERVISOR_TYPES, HypervisorName, HypervisorType
from blueprint.patterns import check_name, expand, expand_numbered
from blueprint.problems import Problem
from blueprint.stackfile import addresses, calico, server_checks
from blueprint.stackfile.class_networks import ClassName
from blueprint.stackfile.servers import Disk, Server, VirtualMachine
from blueprint.stackfile.settings import Settings
from blueprint.stackfile.ssh import HOST_KEY_ADVICE, host_keys
from text.quoting import first_of

MOST_MACHINES = 20_000
"""Maximum number of servers and virtual machines of a stack: twice the compute nodes that `make bench` measures."""

NAMED = 5
"""Machines that a message names."""


class EntryError(ValueError):
    """Raised for an invalid entry of `quorate:servers`. `key`: the invalid key within the entry."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Machine:
    """A server or a virtual machine. `server` is the name of its physical host; a physical server names itself."""

    name: str
    server: str
    address: str
    roles: tuple[str, ...]
    cpu: int
    memory: int
    """Memory in GiB."""
    rack: str | None
    hypervisor: HypervisorName | None = None
    """The name of the hypervisor of a virt host, or of the virtual machine; None for other machines."""
    vm: VirtualMachine | None = None
    disks: tuple[Disk, ...] = ()
    vms: tuple[str, ...] = field(default=())
    """Names of the server's virtual machines."""
    pin: str | None = None
    """The machine's pool in the stack file; None if the stack file does not set it."""
    addresses: Mapping[ClassName, str] = field(default_factory=dict[ClassName, str], hash=False)
    """The machine's addresses in networks beside management, by class."""
    host_key: str | None = None
    """The machine's public SSH host key in the stack file; None if the stack file does not contain it."""

    @property
    def virtual(self) -> bool:
        """Whether the machine is a virtual machine."""
        return self.vm is not None

    @property
    def hypervisor_type(self) -> HypervisorType:
        """The hypervisor of a virt host, or of the virtual machine. Raises ValueError for other machines."""
        if self.hypervisor is None:
            raise ValueError(f"{self.name} is neither a virt host nor a virtual machine")
        return HYPERVISOR_TYPES[self.hypervisor]


def machines(settings: Settings) -> tuple[Machine, ...]:
    """Returns the servers and virtual machines of a stack, sorted by address. The settings must be valid."""
    found = (machine for server in settings.servers for machine in _machines_of(server))
    return tuple(sorted(found, key=lambda machine: inet_aton(machine.address)))


def problems(settings: Settings) -> list[Problem]:
    """Returns the problems of the servers and virtual machines in a stack's settings."""
    if _count(settings) > MOST_MACHINES:
        advice = "divide them over several stacks, or write smaller patterns"
        return [Problem("quorate:servers", f"stand for more than {MOST_MACHINES} machines; {advice}")]
    found: list[Problem] = []
    named: dict[str, list[str]] = defaultdict(list)
    addressed: dict[str, list[str]] = defaultdict(list)
    classed: dict[ClassName, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    racked: dict[str | None, list[str]] = defaultdict(list)
    unknown: list[str] = []
    for index, server in enumerate(settings.servers):
        key = f"quorate:servers[{index}] ({server.name})"
        found += server_checks.problems(server, key, settings)
        try:
            for machine in list(_machines_of(server)):
                named[machine.name].append(key)
                addressed[machine.address].append(machine.name)
                for each, address in machine.addresses.items():
                    classed[each][address].append(machine.name)
                racked[machine.rack].append(machine.name)
                if machine.host_key is None and _is_reached(machine, settings):
                    unknown.append(machine.name)
        except EntryError as error:
            found.append(Problem(f"{key}.{error.key}", str(error)))
        except ValueError as error:
            found.append(Problem(f"{key}.name", str(error)))
    found += _doubles(named, {"": addressed, **classed})
    if unknown and settings.is_live and not settings.has_existing_machines:
        names = first_of(unknown, NAMED)
        message = f"target live logs in to machines by SSH, and {names} have no hostKey; {HOST_KEY_ADVICE} of each"
        found.append(Problem("quorate:servers", message))
    found += addresses.problems(settings, addressed, classed)
    found += calico.problems(settings, racked)
    return found


def _is_reached(machine: Machine, settings: Settings) -> bool:
    """Whether the target live logs in to the machine with a host key of the stack file.

    It does not to a server that only carries virtual machines, unless it makes these.
    """
    return not is_made(machine, settings) and (settings.virt is not None or machine.roles != ("virt",))


def is_made(machine: Machine, settings: Settings) -> bool:
    """Whether Quorate makes the machine on its virt host in the target live, with a host key that it derives."""
    return machine.virtual and settings.virt is not None and bool(settings.virt.image_for(machine.hypervisor_type))


def _count(settings: Settings) -> int:
    """Returns the number of machines of a stack; if there are more than MOST_MACHINES, a number above that limit."""
    total = 0
    for server in settings.servers:
        total += len(expand(server.name)) * (1 + len(server.vms))
        if total > MOST_MACHINES:
            break
    return total


def _address(first: IPv4Address, place: int, key: str) -> str:
    try:
        return str(first + place)
    except AddressValueError:
        said = f"{first} and {place} further on is beyond the last IPv4 address; write a lower address"
        raise EntryError(key, said) from None


def _class_addresses(first: Mapping[ClassName, IPv4Address], place: int, key: str) -> dict[ClassName, str]:
    return {name: _address(address, place, f"{key}.{name}") for name, address in first.items()}


def _machines_of(server: Server) -> Iterator[Machine]:
    numbered = expand_numbered(server.name)
    racks = _racks(server, numbered)
    pins = _pins(server.pool, list(numbered))
    keys = _host_keys("hostKey", server.host_key, list(numbered))
    guests = [guest_names(vm, numbered) for vm in server.vms]
    guest_pins = [_pins(vm.pool, list(names.values())) for vm, names in zip(server.vms, guests, strict=True)]
    guest_keys = [
        _host_keys(f"vms[{index}].hostKey", vm.host_key, list(names.values()))
        for index, (vm, names) in enumerate(zip(server.vms, guests, strict=True))
    ]
    for name, number in numbered.items():
        check_name(name)
        place = _place(server, number)
        yield Machine(
            name=name,
            server=name,
            address=_address(server.address, place, "address"),
            addresses=_class_addresses(server.addresses, place, "addresses"),
            roles=server.roles,
            cpu=server.cpu,
            memory=server.memory,
            rack=racks[name],
            hypervisor=server.hypervisor if "virt" in server.roles else None,
            disks=server.disks,
            vms=tuple(names[name] for names in guests),
            pin=pins.get(name),
            host_key=keys.get(name),
        )
        for index, (vm, names, pool, vm_keys) in enumerate(
            zip(server.vms, guests, guest_pins, guest_keys, strict=True)
        ):
            check_name(names[name])
            yield Machine(
                name=names[name],
                server=name,
                address=_address(vm.address, place, f"vms[{index}].address"),
                addresses=_class_addresses(vm.addresses, place, f"vms[{index}].addresses"),
                roles=vm.roles,
                cpu=vm.cpu,
                memory=vm.ram,
                rack=racks[name],
                hypervisor=server.hypervisor,
                vm=vm,
                pin=pool.get(names[name]),
                host_key=vm_keys.get(names[name]),
            )


def _place(server: Server, number: int | None) -> int:
    """Returns the offset of a server's address and rack from those in its entry; 0 for a name without a bracket.

    `number`: the number in the server's name. Raises EntryError if it is below the entry's countFrom.
    """
    if number is None:
        return 0
    if number < server.count_from:
        raise EntryError(
            "countFrom",
            f"'{server.name}' has the number {number}, and address and rack count from {server.count_from}; "
            f"write countFrom: {number} and the address of that number",
        )
    return number - server.count_from


def _racks(server: Server, numbered: Mapping[str, int | None]) -> dict[str, str | None]:
    racks = _expand("rack", server.rack) if server.rack else [None]
    if len(racks) > 1 and None in numbered.values():
        said = f"'{server.name}' is one server, and '{server.rack}' are {len(racks)} racks; write its own"
        raise EntryError("rack", said)
    return {name: racks[_place(server, number) % len(racks)] for name, number in numbered.items()}


def _expand(key: str, pattern: str) -> list[str]:
    """Returns the names of a pattern. Raises EntryError for the entry's key `key` if the pattern is invalid."""
    try:
        return expand(pattern)
    except ValueError as error:
        raise EntryError(key, str(error)) from None


def guest_names(vm: VirtualMachine, numbered: Mapping[str, int | None]) -> dict[str, str]:
    """Returns the name of a virtual machine on each server of an entry, by the server's name.

    `vm`: the virtual machine as the entry defines it. `numbered`: the entry's servers with their numbers. The numbers
    in a pattern must have the same offset from the servers' numbers, so that removing a server does not move a virtual
    machine to another server. Raises EntryError if they do not.
    """
    if vm.name is None:
        return {server: f"{server}-vm{vm.id}" for server in numbered}
    names = expand_numbered(vm.name)
    if len(names) not in (1, len(numbered)):
        said = f"'{vm.name}' gives {len(names)} names for {len(numbered)} servers; write one for each"
        raise EntryError("vms", said)
    if len(names) == 1:
        return dict.fromkeys(numbered, next(iter(names)))
    pairs = list(zip(numbered.items(), names.items(), strict=True))
    distances = {(guest or 0) - (server or 0) for (_, server), (_, guest) in pairs}
    if len(distances) > 1:
        (server, own), (name, number) = pairs[0]
        raise EntryError(
            "vms",
            f"the numbers of '{vm.name}' do not follow those of the servers: {name} is on {server}, so the virtual "
            f"machine of each server has its server's number {_signed((number or 0) - (own or 0))}; write these",
        )
    return {server: name for (server, _), (name, _) in pairs}


def _signed(distance: int) -> str:
    return f"plus {distance}" if distance > 0 else f"minus {-distance}" if distance else "itself"


def _host_keys(key: str, written: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    try:
        return host_keys(written, names)
    except ValueError as error:
        raise EntryError(key, str(error)) from None


def _pins(pools: Mapping[str, str | None], names: Sequence[str]) -> dict[str, str]:
    """Returns the pool of each machine in an entry for which `pool:` sets one, by name. `names`: the entry's machines.

    Raises EntryError if `pool:` names a machine that is not in the entry, or a machine twice.
    """
    pins: dict[str, str] = {}
    known = set(names)
    for pool, pattern in pools.items():
        for name in _expand("pool", pattern) if pattern else names:
            if name not in known:
                said = f"'{pattern}' names {name}, which this entry does not have; write names of the entry alone"
                raise EntryError("pool", said)
            if name in pins:
                raise EntryError("pool", f"{name} is written for {pins[name]} and for {pool}; write it once")
            pins[name] = pool
    return pins


def _doubles(
    named: Mapping[str, Sequence[str]], addressed: Mapping[str, Mapping[str, Sequence[str]]]
) -> Iterator[Problem]:
    """Yields names and addresses of several machines. `addressed`: addresses by class, "" for management."""
    for name, keys in named.items():
        if len(keys) > 1:
            where = " and ".join(dict.fromkeys(keys))
            yield Problem(where, f"two machines are named '{name}'; give each a name of its own")
    for network, found in addressed.items():
        kind = f"{network} address" if network else "address"
        for address, names in found.items():
            if len(set(names)) > 1:
                yield Problem("quorate:servers", f"{' and '.join(names)} have one {kind}, {address}; give each its own")
