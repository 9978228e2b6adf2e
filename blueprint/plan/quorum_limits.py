"""Defines the valid sizes of quorums, and rejects a stack whose settings put a quorum at risk.

Valid sizes, with their sources: etcd odd, 3 to 7 (etcd's FAQ; 004, 5.5.9 requires checks of its quorum); Galera odd, 3
to 5 (every member acknowledges each write; 004, 5.3.13); RabbitMQ odd (pause_minority needs a majority; 004, 5.3.12);
ceph-mon 3 or 5 (004, 5.4.14); the log store at least 3 (004, 5.3.15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blueprint.architecture.model import Architecture
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Settings
from contract import MASTER_POOL


@dataclass(frozen=True)
class Limit:
    """The number of members that a quorum may have. A single member is accepted for labs; policy rules report it."""

    most: int | None
    odd: bool
    least: int = 3


ETCD = Limit(most=7, odd=True)
ETCD_SIZE = "etcd-size"
"""The policy pack's rule on the number of masters. Its waiver admits an even number: masters leave one at a time."""
LIMITS = {
    "mysqld": Limit(most=5, odd=True),
    "rabbitmq": Limit(most=None, odd=True),
    "ceph-mon": Limit(most=5, odd=True),
    "elasticsearch-kibana": Limit(most=None, odd=False),
}
"""Limits of the sizes of quorums, by service."""


def majority(members: int) -> int:
    """Returns how many of `members` members are a majority, which must be up so that the quorum serves."""
    return members // 2 + 1


def problems(settings: Settings, architecture: Architecture, machines: Sequence[Machine]) -> list[Problem]:
    """Returns problems: invalid quorum sizes, missing masters, and in production masters on one physical host."""
    found: list[Problem] = []
    rows = {row.service for row in architecture.rows}
    for service, override in settings.services.items():
        process = override.definition or service
        if process in LIMITS and process in rows and override.replicas is not None:
            wrong = _wrong_size(override.replicas, LIMITS[process])
            found += [Problem(f"quorate:services.{service}.replicas", wrong)] if wrong else []
    masters = [machine for machine in machines if MASTER_POOL in machine.roles]
    if not masters:
        found.append(Problem("quorate:servers", "no machine has the role master; give it to three (004, 5.5.3)"))
    elif (wrong := _masters_wrong(len(masters))) and not _may_have(len(masters), settings):
        found.append(Problem("quorate:servers", wrong))
    if settings.profile == "production":
        found += [
            Problem(
                "quorate:servers",
                f"masters {' and '.join(names)} share the physical host {server}: its loss takes "
                f"{len(names)} of {len(masters)} members of etcd; put each on a host of its own",
            )
            for server, names in _together(masters)
        ]
    return found


def warnings(settings: Settings, nodes: Sequence[Node]) -> Iterator[str]:
    """Yields warnings about masters that only a lab may have: a single one, an even number, several on one host."""
    masters = [node.machine for node in nodes if MASTER_POOL in node.machine.roles]
    if len(masters) == 1:
        yield f"one master, {masters[0].name}: no quorum, its loss stops the control plane (004, 5.5.3 wants three)"
    if (wrong := _masters_wrong(len(masters))) and _may_have(len(masters), settings):
        yield wrong
    if settings.profile == "lab":
        for server, names in _together(masters):
            yield f"masters {' and '.join(names)} share the physical host {server}: production refuses this"


def _masters_wrong(masters: int) -> str | None:
    wrong = _wrong_size(masters, ETCD)
    if not wrong:
        return None
    day = f"; on the way to another size, waive {ETCD_SIZE} for that day (docs/operations.md)"
    return f"{masters} masters are {masters} members of etcd: {wrong}{day if masters % 2 == 0 else ''}"


def _may_have(masters: int, settings: Settings) -> bool:
    """Whether a stack may have this many masters: in a lab also an even number, or while the rule on it is waived."""
    if masters > (ETCD.most or masters):
        return False
    waived = any(waiver.rule == ETCD_SIZE for waiver in settings.waivers)
    return settings.profile == "lab" or (waived and masters > ETCD.least)


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


def _together(masters: Sequence[Machine]) -> list[tuple[str, list[str]]]:
    shared = Counter(master.server for master in masters)
    return [
        (server, [master.name for master in masters if master.server == server])
        for server, count in shared.items()
        if count > 1
    ]
