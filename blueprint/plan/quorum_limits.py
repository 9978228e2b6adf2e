"""Defines the valid sizes of quorums, and rejects a stack whose settings put a quorum at risk.

Valid sizes, with their sources: etcd odd, 3 to 7 (etcd's FAQ; 004, 5.5.9 requires checks of its quorum); Galera odd, 3
to 5 (every member acknowledges each write; 004, 5.3.13); RabbitMQ odd (pause_minority needs a majority; 004, 5.3.12);
ceph-mon 3 or 5 (004, 5.4.14); the log store at least 3 (004, 5.3.15); OVN's databases 3 (ovn_member removes no
member that is left out of the list).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blueprint import replicas
from blueprint.architecture.model import Architecture
from blueprint.problems import Problem
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Settings
from contract import ETCD_ROLE, MASTER_POOL


@dataclass(frozen=True)
class Limit:
    """The number of members that a quorum may have. A single member is accepted for labs; policy rules report it."""

    most: int | None
    odd: bool
    least: int = 3


ETCD = Limit(most=7, odd=True)
ETCD_SIZE = "etcd-size"
"""The policy pack's rule on the number of members. Its waiver admits an even number: members leave one at a time."""
LIMITS = {
    "mysqld": Limit(most=5, odd=True),
    "rabbitmq": Limit(most=None, odd=True),
    "ceph-mon": Limit(most=5, odd=True),
    "elasticsearch-kibana": Limit(most=None, odd=False),
    "ovn-nb": Limit(most=3, odd=True),
    "ovn-sb": Limit(most=3, odd=True),
}
"""Limits of the sizes of quorums, by service."""


def majority(members: int) -> int:
    """Returns how many of `members` members are a majority, which must be up so that the quorum serves."""
    return members // 2 + 1


def problems(settings: Settings, architecture: Architecture, machines: Sequence[Machine]) -> list[Problem]:
    """Returns problems: invalid sizes of quorums, no master, and in production masters or members on one host."""
    found: list[Problem] = []
    rows = {row.service for row in architecture.rows}
    for service, process, count in replicas.written(settings):
        if process in LIMITS and process in rows:
            wrong = _wrong_size(count, LIMITS[process])
            found += [Problem(f"quorate:services.{service}.replicas", wrong)] if wrong else []
    masters, etcd = _masters(machines), _etcd(machines)
    if not masters:
        found.append(Problem("quorate:servers", "no machine has the role master; give it to three (004, 5.5.3)"))
    elif (wrong := _members_wrong(masters, etcd)) and not _may_have(len(etcd or masters), settings):
        found.append(Problem("quorate:servers", wrong))
    if not settings.is_lab:
        found += [
            Problem(
                "quorate:servers",
                f"{what} {' and '.join(names)} share the physical host {server}: its loss takes "
                f"{len(names)} of {count} {lost}; put each on a host of its own",
            )
            for what, lost, count, server, names in _sharing(masters, etcd)
        ]
    return found


def warnings(settings: Settings, machines: Sequence[Machine]) -> Iterator[str]:
    """Yields warnings about masters and members of etcd that only a lab may have.

    A single one, an even number of members, several on one host.
    """
    masters, etcd = _masters(machines), _etcd(machines)
    if len(masters) == 1:
        effect = "its loss" if etcd else "no quorum, its loss"
        yield f"one master, {masters[0].name}: {effect} stops the control plane (004, 5.5.3 wants three)"
    if len(etcd) == 1:
        yield f"one etcd machine, {etcd[0].name}: no quorum, its loss stops the control plane (004, 5.5.4 wants three)"
    if (wrong := _members_wrong(masters, etcd)) and _may_have(len(etcd or masters), settings):
        yield wrong
    if settings.is_lab:
        for what, _, _, server, names in _sharing(masters, etcd):
            yield f"{what} {' and '.join(names)} share the physical host {server}: production refuses this"


def _masters(machines: Sequence[Machine]) -> list[Machine]:
    return [machine for machine in machines if MASTER_POOL in machine.roles]


def _etcd(machines: Sequence[Machine]) -> list[Machine]:
    """Returns the machines of role etcd. Without any, the masters carry etcd's members."""
    return [machine for machine in machines if ETCD_ROLE in machine.roles]


def _members_wrong(masters: Sequence[Machine], etcd: Sequence[Machine]) -> str | None:
    """Returns what is wrong with the number of etcd's members. API servers keep no state: any number may run."""
    members, what = (len(etcd), "etcd machines") if etcd else (len(masters), "masters")
    wrong = _wrong_size(members, ETCD)
    if not wrong:
        return None
    day = f"; on the way to another size, waive {ETCD_SIZE} for that day (docs/operations.md)"
    return f"{members} {what} are {members} members of etcd: {wrong}{day if members % 2 == 0 else ''}"


def _may_have(members: int, settings: Settings) -> bool:
    """Whether etcd may have this many members: in a lab also an even number, or while the rule on it is waived."""
    if members > (ETCD.most or members):
        return False
    waived = any(waiver.rule == ETCD_SIZE for waiver in settings.waivers)
    return settings.is_lab or (waived and members > ETCD.least)


def _wrong_size(members: int, limit: Limit) -> str | None:
    if members == 1:
        # A single member is not a quorum. A lab may run one; in production the policy pack reports it.
        return None
    sizes = range(limit.least, limit.most + 1, 2) if limit.most else (limit.least,)
    advice = " or ".join(str(size) for size in sizes) + (
        "" if limit.most else " or more, odd" if limit.odd else " or more"
    )
    if limit.most and members > limit.most:
        return f"{members} members are too many, each write waits for more of them; write {advice}"
    if limit.odd and members % 2 == 0:
        lost = members - majority(members)
        return f"{members} is even: it survives the loss of {lost}, no more than {members - 1} would; write {advice}"
    if members < limit.least:
        return f"{members} members have no majority once one is lost; write {advice}"
    return None


def _sharing(masters: Sequence[Machine], etcd: Sequence[Machine]) -> Iterator[tuple[str, str, int, str, list[str]]]:
    """Yields machines on one physical host: what they are, what is lost with one, their total, the host, the names."""
    kinds = [
        ("masters", "API servers" if etcd else "members of etcd", masters),
        ("etcd machines", "members of etcd", etcd),
    ]
    for what, lost, machines in kinds:
        for server, count in Counter(machine.server for machine in machines).items():
            if count > 1:
                names = [machine.name for machine in machines if machine.server == server]
                yield what, lost, len(machines), server, names
