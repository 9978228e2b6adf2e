"""Reads Ceph: monitors and their quorum, health, and whether each pool has its least number of copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cluster.objects import Object, at, listed, mapping, number, text
from operations.living.answers import DISK, Answer, Unanswered, disk_use, first
from operations.living.quorum import LivingMember, LivingQuorum, heard, with_votes

MONITOR, STATUS, POOLS, TREE = "monitor", "status", "pools", "tree"
_CEPH = "timeout 8 ceph --connect-timeout 5"
QUESTIONS = {
    # The monitor's own socket answers without a quorum.
    MONITOR: '[ -S "/run/ceph/ceph-mon.$POD_NAME.asok" ] && timeout 8 ceph daemon "mon.$POD_NAME" mon_status',
    STATUS: f"{_CEPH} status --format=json",
    POOLS: f"{_CEPH} osd pool ls detail --format=json",
    TREE: f"{_CEPH} osd tree --format=json",
    DISK: "df -Pk /var/lib/ceph/mon",
}
_UNKNOWN = "unknown"
"""State of a placement group of which the manager has not heard since it started: it may serve."""
IN_QUORUM = {"leader", "peon"}
"""States of a monitor that is in the quorum."""


@dataclass(frozen=True)
class Pool:
    """A pool of Ceph: its name, its copies, and the least number of copies with which it serves."""

    name: str
    copies: int
    least: int


@dataclass(frozen=True)
class Storage:
    """What decides whether OSDs may stop."""

    up: Mapping[str, int]
    """Number of OSDs that are up, by the name of their host in Ceph's tree."""
    pools: tuple[Pool, ...]
    unclean: int
    """Number of placement groups that have not all copies where they belong."""
    stopped: int = 0
    """Number of those that do not serve."""
    unfound: int = 0
    """Number of objects of which no OSD that is up has the newest copy."""


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of Ceph. `declared`: names of the stack's monitors; `answers`: theirs, by name."""
    found, silent = heard(declared, answers, _monitor)
    state = _document(answers, STATUS)
    agreed = {str(each) for each in state.get("quorum_names") or ()}
    voters = _voters(found, agreed) or frozenset(declared)
    return LivingQuorum(
        name,
        "ceph",
        with_votes(
            (silent.get(member) or _member(member, found[member], agreed, answers[member]) for member in declared),
            voters,
        ),
        serves=bool(state) if found else None,
        figures=tuple(_figures(state)),
        troubles=tuple(_troubles(state)),
        notes=tuple(f"{code}: {text(check, 'summary', 'message')}" for code, check in _checks(state, "HEALTH_WARN")),
    )


def storage(answers: Mapping[str, Answer]) -> Storage | None:
    """Returns what decides whether OSDs may stop; None if no monitor tells it."""
    state, tree = _document(answers, STATUS), _document(answers, TREE)
    pools = first(answers.values(), _pools)
    if not state or "nodes" not in tree or pools is None:
        return None
    nodes = listed(tree, "nodes")
    up = {number(each, "id") for each in nodes if each.get("type") == "osd" and each.get("status") == "up"}
    hosts = [each for each in nodes if each.get("type") == "host"]
    return Storage(
        {text(host, "name"): len(up.intersection(at(host, "children") or ())) for host in hosts},
        pools,
        sum(count for name, count in _groups(state) if "active+clean" not in name),
        _stopped(state),
        number(state, "pgmap", "unfound_objects"),
    )


def _monitor(answer: Answer) -> Object:
    found = answer.document(MONITOR)
    if "state" not in found or "monmap" not in found:
        raise Unanswered("what it says is not the status of a monitor")
    return found


def _voters(found: Mapping[str, Object], agreed: set[str]) -> frozenset[str]:
    """Returns the monitors in the map of those in the quorum; none while another one is in a different quorum.

    A monitor that goes on alone after its majority was lost has removed the others, and is its own majority.
    """
    serving = {member for member, each in found.items() if text(each, "state") in IN_QUORUM}
    if not serving <= agreed:
        return frozenset()
    maps = {frozenset(text(each, "name") for each in listed(found[member], "monmap", "mons")) for member in serving}
    return maps.pop() if len(maps) == 1 else frozenset()


def _document(answers: Mapping[str, Answer], question: str) -> Object:
    """Returns the first answer to a question that only a quorum answers; {} if there is none."""
    return first(answers.values(), lambda answer: answer.document(question)) or {}


def _pools(answer: Answer) -> tuple[Pool, ...]:
    return tuple(
        Pool(text(each, "pool_name"), number(each, "size"), number(each, "min_size")) for each in answer.objects(POOLS)
    )


def _member(name: str, found: Object, agreed: set[str], answer: Answer) -> LivingMember:
    state = text(found, "state")
    counts = state in IN_QUORUM and (not agreed or name in agreed)
    says = state if counts else f"{state}: it is not in the quorum"
    return LivingMember(
        name,
        counts,
        says,
        leads=counts and state == "leader",
        troubles=disk_use(answer),
        version=text(found, "version"),
    )


def _checks(state: Object, severity: str) -> list[tuple[str, Object]]:
    checks = mapping(state, "health", "checks")
    return [(code, mapping(checks, code)) for code in checks if text(checks, code, "severity") == severity]


def _groups(state: Object) -> list[tuple[str, int]]:
    found = listed(state, "pgmap", "pgs_by_state")
    return [(text(each, "state_name"), number(each, "count")) for each in found]


def _stopped(state: Object) -> int:
    return sum(count for name, count in _groups(state) if {"active", _UNKNOWN}.isdisjoint(name.split("+")))


def _figures(state: Object) -> Iterator[str]:
    if state:
        yield text(state, "health", "status")
        osds = mapping(state, "osdmap")
        yield f"{number(osds, 'num_up_osds')} of {number(osds, 'num_osds')} OSDs up, {number(osds, 'num_in_osds')} in"
        yield f"{number(state, 'pgmap', 'num_pgs')} placement groups"


def _troubles(state: Object) -> Iterator[str]:
    """Yields what stops or endangers clients. A placement group that is not active has too few copies to serve."""
    for code, check in _checks(state, "HEALTH_ERR"):
        yield f"{code}: {text(check, 'summary', 'message')}"
    if stopped := _stopped(state):
        yield f"{stopped} placement groups do not serve: they have fewer copies than min_size, or look for them"
    osds = mapping(state, "osdmap")
    if down := number(osds, "num_osds") - number(osds, "num_up_osds"):
        yield f"{down} OSDs are down"
