"""Assigns machines to pools, and so dedicates nodes to services.

Each row of the architecture that has dedicated nodes (an owner) has a pool named after its service. Members of a quorum
get nodes on different physical hosts; if this is not possible, the stack is rejected. Other owners get nodes on hosts
and racks that are as different as possible.

The assignment changes as little as possible when machines are added or removed. Its steps:

1. A server with `pool:` in the stack file gets that pool.
2. Each owner has as many numbers as its row has dedicated nodes. With three owners of three nodes each, 1 to 3 belong
   to the first owner, 4 to 6 to the second, 7 to 9 to the third, and 10 to the first again. A machine is assigned to
   the owner of the number in its name, if that owner needs a machine. Adding or removing a machine then does not move
   the other machines.
3. An owner that still needs machines gets free ones: first those on the least used hosts and racks, then those with the
   lowest addresses. If no free machine fits, owners exchange machines along the shortest chain that ends at a free
   machine (an augmenting path in a bipartite graph). This finds an assignment with the members of each quorum on
   different hosts if there is one.
4. Replicas beyond the architecture's count are assigned last, from machines that no other service needs.

Without `pool:`, a machine that took the place of a removed machine may change its pool when that machine is added
again. `make pin`, which writes the pools into the stack file, prevents this.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from blueprint.architecture.model import Architecture, Row
from blueprint.patterns import number_in
from blueprint.plan.nodes import Node, node
from blueprint.plan.pins import may_own, pin_problems
from blueprint.problems import Problem
from blueprint.stackfile.inventory import Machine
from contract import COMPUTE_POOL, CONTROLLER_POOL, MASTER_POOL, MONITORING_POOL, STORAGE_POOL


def assign_pools(
    machines: Sequence[Machine], architecture: Architecture, dedicated: Mapping[str, int], *, is_lab: bool
) -> tuple[tuple[Node, ...], list[Problem]]:
    """Returns every node with its pool, in the order of `machines`, and problems if there are too few machines.

    `dedicated`: how many dedicated nodes each service needs. `is_lab`: whether the stack is a lab.
    A problem states the nodes needed, available and to add.
    """
    shortage = _shortage(machines, architecture, dedicated, is_lab=is_lab)
    problems = [*pin_problems(machines, architecture, dedicated), *shortage]
    owners = _Owners(machines, architecture, dedicated)
    owners.take_pinned()
    owners.take_numbered()
    owners.fill({row.service: row.dedicated_nodes for row in architecture.owners})
    owners.fill(dedicated)
    if not problems:
        problems += owners.unfilled(dedicated)
    owner_of = owners.by_machine()
    by_name = {machine.name: machine for machine in machines}
    nodes: list[Node] = []
    for machine in machines:
        guests = tuple(by_name[name] for name in machine.vms)
        pool = owner_of.get(machine.name) or _common_pool(machine)
        if pool:
            nodes.append(node(machine, pool, owner_of.get(machine.name), guests=guests))
    return tuple(nodes), problems


def _common_pool(machine: Machine) -> str | None:
    """Returns the pool, by its role, of a machine that is not dedicated; None for a server that only runs VMs."""
    for role in (MASTER_POOL, COMPUTE_POOL, STORAGE_POOL, MONITORING_POOL, CONTROLLER_POOL):
        if role in machine.roles:
            return role
    return None


@dataclass
class _Owner:
    """A row with dedicated nodes, and the machines that are assigned to it so far."""

    row: Row
    has: list[Machine] = field(default_factory=list[Machine])

    @property
    def name(self) -> str:
        return self.row.service

    def may_take(self, machine: Machine, *, instead_of: Machine | None = None) -> bool:
        """Whether the machine can be assigned to this owner, by its role and, for a quorum, its physical host.

        `instead_of`: a machine of the owner that it would give away in exchange.
        """
        servers = {one.server for one in self.has if one is not instead_of}
        return may_own(self.row, machine) and not (self.row.quorum and machine.server in servers)

    def distance(self, machine: Machine) -> tuple[int, bool, int]:
        """Sort key for machines to assign to this owner, the best first.

        Compares the owner's machines on the same server, then the role monitoring, then its machines in the same rack.
        """
        on_server = sum(one.server == machine.server for one in self.has)
        in_rack = sum(one.rack == machine.rack for one in self.has)
        return on_server, self.row.monitoring and MONITORING_POOL not in machine.roles, in_rack


class _Owners:
    """The rows with dedicated nodes (owners), quorums first, and the machines that are not assigned yet."""

    def __init__(self, machines: Sequence[Machine], architecture: Architecture, dedicated: Mapping[str, int]) -> None:
        rows = sorted(architecture.owners, key=lambda row: (not row.quorum, -row.dedicated_nodes))
        self.all = {row.service: _Owner(row) for row in rows}
        self.dedicated = dedicated
        self.free = [m for m in machines if {CONTROLLER_POOL, MONITORING_POOL} & set(m.roles)]
        self.kept: list[Machine] = []
        """Machines whose `pool:` in the stack file is a common pool, so that they are not assigned to an owner."""
        self.racks = len({machine.rack for machine in self.free})

    def take_pinned(self) -> None:
        """Assigns each machine with `pool:` to the owner of that pool, and keeps a machine with a common pool free."""
        for machine in [one for one in self.free if one.pin]:
            self.free.remove(machine)
            owner = self.all.get(machine.pin or "")
            if owner and owner.may_take(machine) and len(owner.has) < self.dedicated[owner.name]:
                owner.has.append(machine)
            elif not owner:
                self.kept.append(machine)

    def take_numbered(self) -> None:
        """Assigns each machine to the owner of the number in its name, if that owner still needs a machine.

        The owner must have no machine on the same server, and not too many in the same rack.
        """
        controllers = list(self.all.values())
        monitoring = [owner for owner in controllers if owner.row.monitoring]
        # Machines with the role monitoring are first, so that monitoring services take as few controllers as possible.
        for machine in sorted(self.free, key=lambda one: MONITORING_POOL not in one.roles):
            turns = _turns(monitoring if MONITORING_POOL in machine.roles else controllers)
            number = number_in(machine.name)
            if number is None or not turns:
                continue
            owner = turns[(number - 1) % len(turns)]
            base = owner.row.dedicated_nodes
            crowded = sum(one.rack == machine.rack for one in owner.has) >= -(-base // self.racks)
            beside = any(one.server == machine.server for one in owner.has)
            if len(owner.has) < base and owner.may_take(machine) and not crowded and not beside:
                self._take(owner, machine)

    def fill(self, wanted: Mapping[str, int]) -> None:
        """Gives each owner machines until it has `wanted` of them.

        If no free machine suits an owner, it takes another owner's, which gets a free one in exchange. An owner keeps
        fewer machines if no such exchange exists.
        """
        for owner in self.all.values():
            while len(owner.has) < wanted[owner.name] and self._grow(owner):
                pass

    def unfilled(self, wanted: Mapping[str, int]) -> Iterator[Problem]:
        """Yields a problem for the first owner with fewer machines than `wanted`, with the reason.

        The reason: machines have a common pool in the stack file, or share a physical host.
        """
        for owner in self.all.values():
            missing = wanted[owner.name] - len(owner.has)
            kept = [one for one in self.kept if may_own(owner.row, one)]
            if missing and kept:
                yield _kept_away(owner.row, wanted[owner.name], wanted[owner.name] - missing, kept)
                return
            if missing:
                hosts = len({machine.server for machine in (*self.free, *owner.has) if may_own(owner.row, machine)})
                yield _too_few_hosts(owner.row, wanted[owner.name], hosts, missing)
                return

    def by_machine(self) -> dict[str, str]:
        """Returns the service that each assigned machine is dedicated to, by the machine's name."""
        return {machine.name: owner.name for owner in self.all.values() for machine in owner.has}

    def _take(self, owner: _Owner, machine: Machine) -> None:
        self.free.remove(machine)
        owner.has.append(machine)

    def _grow(self, owner: _Owner) -> bool:
        """Assigns one more machine to the owner, by the shortest chain of exchanges that ends at a free machine.

        Returns False, and changes nothing, if there is no such chain.
        """
        chains: deque[list[tuple[_Owner, Machine | None]]] = deque([[(owner, None)]])
        seen = {owner.name}
        while chains:
            chain = chains.popleft()
            last, given = chain[-1]
            free = [machine for machine in self.free if last.may_take(machine, instead_of=given)]
            if free:
                self._move(chain, min(free, key=last.distance))
                return True
            for other in self.all.values():
                lent = (one for one in other.has if not one.pin and last.may_take(one, instead_of=given))
                if other.name not in seen and (machine := next(lent, None)):
                    seen.add(other.name)
                    chains.append([*chain, (other, machine)])
        return False

    def _move(self, chain: Sequence[tuple[_Owner, Machine | None]], machine: Machine) -> None:
        """Exchanges machines along a chain of owners.

        Each owner gives its machine in the chain to the owner before it; the last owner gets the free machine
        `machine`.
        """
        self.free.remove(machine)
        for owner, given in reversed(chain):
            if given:
                owner.has.remove(given)
            owner.has.append(machine)
            machine = given or machine


def _turns(owners: Sequence[_Owner]) -> list[_Owner]:
    """Returns the owner of each number from 1 on. An owner has as many consecutive numbers as dedicated nodes."""
    return [owner for owner in owners for _ in range(owner.row.dedicated_nodes)]


def _shortage(
    machines: Sequence[Machine], architecture: Architecture, dedicated: Mapping[str, int], *, is_lab: bool
) -> Iterator[Problem]:
    roles = Counter(role for machine in machines for role in set(machine.roles))
    needed = sum(dedicated.values())
    monitoring = sum(dedicated[row.service] for row in architecture.owners if row.monitoring)
    # Only monitoring services can use monitoring nodes, so more of these nodes than they need do not count.
    there = roles[CONTROLLER_POOL] + min(roles[MONITORING_POOL], monitoring)
    if there < needed:
        # A lab without the architecture's own nodes has none that are dedicated: more replicas are what its own lack.
        raised = [row.service for row in architecture.owners if dedicated[row.service] > row.dedicated_nodes]
        advice = (
            f"or write fewer replicas of {' and '.join(raised)}"
            if is_lab
            else "name a smaller architecture, or write quorate:profile: lab, which builds small stacks without "
            "dedicated nodes"
        )
        lines = ", ".join(f"{row.row} {dedicated[row.service]}" for row in architecture.owners)
        yield Problem(
            "quorate:servers",
            f"architecture {architecture.name} dedicates {needed} nodes ({lines}; {architecture.source}), "
            f"the stack has {roles[CONTROLLER_POOL]} of role controller and {roles[MONITORING_POOL]} of role "
            f"monitoring; add {needed - there} with role controller, {advice}",
        )


def _kept_away(row: Row, wanted: int, there: int, kept: Sequence[Machine]) -> Problem:
    missing = wanted - there
    return Problem(
        "quorate:servers",
        f"{row.row} needs {wanted} nodes, {there} are free or written for it; {len(kept)} are reserved for pool "
        f"{kept[0].pin} ({', '.join(machine.name for machine in kept)}): write pool {row.service} beside {missing} of "
        f"them, or add {missing} with role controller",
    )


def _too_few_hosts(row: Row, wanted: int, hosts: int, missing: int) -> Problem:
    return Problem(
        "quorate:servers",
        f"{row.row} needs {wanted} nodes on as many physical hosts, so that the loss of one costs one member; "
        f"nodes of role controller that are still free are on {hosts}; "
        f"add {missing} on a physical host of its own",
    )
