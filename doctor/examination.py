"""Examines all machines of a plan, many at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.plan.host_reserves import host_reserves
from blueprint.plan.plan import Plan
from blueprint.stackfile import sriov
from blueprint.stackfile.inventory import is_made
from doctor import ceph_checks, checks, class_network_checks, fleet_checks, sriov_checks
from doctor.checks import MachineFinding
from doctor.login import LoginError, Reading, facts, read, write_known_hosts
from text.quoting import first_of

AT_ONCE = 64
"""Machines examined at the same time. Project figure: 1000 machines take seconds to minutes."""
AT_ONCE_BY_JUMP_HOST = 8
"""The same through a jump host: sshd refuses some of more than 10 logins in progress (sshd_config(5), MaxStartups)."""
LOGIN = "SSH"
NAMED = 20
"""Machines with the same problem that a line names."""
SHOWN = 20
"""Problems of a check that have a line each. In a wrong network, every machine has a problem of its own."""


@dataclass(frozen=True)
class Line:
    """The result of a check on all machines."""

    check: str
    examined: int
    """Number of machines that the check was made on."""
    findings: tuple[MachineFinding, ...]

    def __str__(self) -> str:
        failed = len({each.machine for each in self.findings})
        passed = f"{self.examined - failed} of {self.examined} machines"
        return "\n".join((f"{'FAILED' if failed else 'ok':7} {self.check:13} {passed}", *self._problems()))

    def _problems(self) -> Iterator[str]:
        """Yields a line for each problem, with the machines that have it; the problem of most machines is the first."""
        machines: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in self.findings:
            machines[each.problem, each.remedy].append(each.machine)
        problems = sorted(machines.items(), key=lambda each: -len(each[1]))
        for (problem, remedy), names in problems[:SHOWN]:
            yield f"        {first_of(names, NAMED)}: {problem}; {remedy}"
        if others := list(dict.fromkeys(name for _, names in problems[SHOWN:] for name in names)):
            count = len(problems) - SHOWN
            yield f"        {first_of(others, NAMED)}: {count} more problems; correct those above, and check again"


def examine(plan: Plan) -> list[Line]:
    """Reads the facts of all machines of a plan over SSH, and returns the result of every check.

    Virtual machines that `up` makes are left out. Checks that need a login leave out machines without one. Raises
    FileNotFoundError if the host has no `ssh`.
    """
    nodes = [node for node in plan.machines if not is_made(node.machine, plan.settings)]
    readings: dict[str, Reading] = {}
    unreachable: list[MachineFinding] = []
    ssh = plan.settings.ssh
    with TemporaryDirectory(prefix="quorate-doctor-") as directory:
        known_hosts = Path(directory) / "known_hosts"
        write_known_hosts(known_hosts, tuple(node.machine for node in nodes), ssh)
        with ThreadPoolExecutor(AT_ONCE_BY_JUMP_HOST if ssh.jump_host else AT_ONCE) as pool:
            pending = {node.name: pool.submit(read, node.machine, ssh, known_hosts) for node in nodes}
            for name, future in pending.items():
                try:
                    readings[name] = future.result()
                except LoginError as error:
                    unreachable.append(MachineFinding(LOGIN, name, error.problem, error.remedy))
            unreached = [
                *_unreached(plan, readings, known_hosts, pool),
                *_without_monitors(plan, readings, known_hosts, pool),
            ]
    return [Line(LOGIN, len(nodes), tuple(unreachable)), *_lines(plan, readings, unreached)]


def _unreached(
    plan: Plan, readings: Mapping[str, Reading], known_hosts: Path, pool: ThreadPoolExecutor
) -> Iterator[MachineFinding]:
    """Lets each machine send packets to all others in its networks beside management, and yields what it found."""
    networks, ssh = plan.settings.networks.classes, plan.settings.ssh
    there = class_network_checks.present(plan.machines, readings)
    pending = [
        (node, pool.submit(facts, node.machine, ssh, known_hosts, script, class_network_checks.LIMIT))
        for node in plan.machines
        if (script := class_network_checks.script(node, there, networks))
    ]
    for node, future in pending:
        try:
            yield from class_network_checks.unreached(node, future.result(), there, networks)
        except LoginError as error:
            for name in node.machine.addresses:
                yield MachineFinding(name, node.name, error.problem, error.remedy)


def _without_monitors(
    plan: Plan, readings: Mapping[str, Reading], known_hosts: Path, pool: ThreadPoolExecutor
) -> Iterator[MachineFinding]:
    """Lets each node with clients of an external Ceph connect to its monitors, and yields what it found."""
    external, ssh = plan.settings.external_ceph, plan.settings.ssh
    if external is None:
        return
    script = ceph_checks.script(external)
    pending = [
        (node, pool.submit(facts, node.machine, ssh, known_hosts, script, ceph_checks.LIMIT))
        for node in ceph_checks.nodes(plan)
        if node.name in readings
    ]
    for node, future in pending:
        try:
            yield from ceph_checks.unreached(node, future.result(), external)
        except LoginError as error:
            yield MachineFinding(ceph_checks.CEPH, node.name, error.problem, error.remedy)


def _lines(plan: Plan, readings: Mapping[str, Reading], unreached: Sequence[MachineFinding]) -> list[Line]:
    reached = [node for node in plan.machines if node.name in readings]
    single = [
        finding
        for node in reached
        for finding in checks.of_machine(node, readings[node.name], plan.settings, has_member=node in plan.members)
    ]
    found = [Line(name, len(readings), _of(name, single)) for name in checks.CHECKS]
    found.append(Line(fleet_checks.NETWORK, len(readings), tuple(fleet_checks.network(plan.machines, readings))))
    networks = plan.settings.networks.classes
    apart = [*class_network_checks.interfaces(plan.machines, readings, networks), *unreached]
    for name in networks:
        count = sum(name in node.machine.addresses for node in reached)
        found.append(Line(name, count, _of(name, apart)))
    if clients := [node for node in ceph_checks.nodes(plan) if node.name in readings]:
        found.append(Line(ceph_checks.CEPH, len(clients), _of(ceph_checks.CEPH, unreached)))
    if cards := [node for node in reached if sriov.devices(plan.settings, node.name)]:
        problems = sriov_checks.cards(cards, readings, plan.settings)
        found.append(Line(sriov_checks.SRIOV, len(cards), tuple(problems)))
    found.append(Line(fleet_checks.IDENTITY, len(readings), tuple(fleet_checks.identities(readings))))
    if hosts := [node for node in reached if node.machine.vms]:
        problems = fleet_checks.virt_hosts(plan.machines, readings, plan.settings.template, host_reserves(plan))
        found.append(Line(fleet_checks.VIRT_HOST, len(hosts), tuple(problems)))
    return found


def _of(check: str, findings: Sequence[MachineFinding]) -> tuple[MachineFinding, ...]:
    return tuple(each for each in findings if each.check == check)
