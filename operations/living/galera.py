"""Reads a Galera cluster: primary component, size, each member's state, receive queue and flow control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from operations.living.answers import DISK, SIZE, Answer, Unanswered, bytes_of_data, disk_use
from operations.living.quorum import LivingMember, LivingQuorum, heard

STATUS = "replication"
SIZING = 3
"""Seconds after which the size of a member's data is left out. Project figure: all other answers wait for it, and only
the foreseen duration of a replacement needs it."""
SERVES = {"2": "Donor/Desynced", "4": "Synced"}
"""wsrep_local_state of members that have all data: a donor serves a state transfer or a backup."""
SLOWED = 0.1
"""Part of the time that replication was paused by flow control from which it is named. Project figure."""
_SPLIT = "its members form several clusters, each with a primary component: writes go different ways"
_SQL = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'; SELECT 'version', VERSION()"
CLIENT = "mariadb --no-defaults --protocol=socket --socket=/tmp/mysqld.sock --connect-timeout=5 -rNBe"
"""MariaDB's client in a member's pod, before a statement. The operating system's user needs no password."""
QUESTIONS = {
    STATUS: f'{CLIENT} "{_SQL}"',
    DISK: "df -Pk /var/lib/mysql",
    SIZE: f"timeout {SIZING} du -sk /var/lib/mysql",
}


@dataclass(frozen=True)
class _Replication:
    """The replication status of a member, by MariaDB's variables."""

    said: Mapping[str, str]

    @property
    def is_primary(self) -> bool:
        return self.said["wsrep_cluster_status"] == "Primary"

    @property
    def view(self) -> tuple[str, str]:
        """The cluster and its view, which all members of one primary component have in common."""
        return self.said.get("wsrep_cluster_state_uuid", ""), self.said.get("wsrep_cluster_conf_id", "")

    @property
    def has_data(self) -> bool:
        return self.said.get("wsrep_local_state") in SERVES and self.said.get("wsrep_ready") == "ON"

    def number(self, name: str) -> float:
        try:
            return float(self.said.get(name, ""))
        except ValueError:
            return 0.0


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of a Galera cluster. `declared`: names of the stack's members; `answers`: theirs, by name."""
    found, silent = heard(declared, answers, _replication)
    primary = [each for each in found.values() if each.is_primary]
    views = Counter(each.view for each in primary)
    view = max(views, key=lambda each: views[each], default=None)
    size = max((each for answer in answers.values() if (each := bytes_of_data(answer))), default=None)
    return LivingQuorum(
        name,
        "galera",
        tuple(silent.get(member) or _member(member, found[member], view, answers[member]) for member in declared),
        serves=any(each.has_data for each in primary) if found else None,
        figures=tuple(_figures(primary, size)),
        size=size,
        troubles=(_SPLIT,) if len({each.view[0] for each in primary}) > 1 else (),
        notes=tuple(_notes(found)),
    )


def _replication(answer: Answer) -> _Replication:
    rows = (line.split("\t", 1) for line in answer.text(STATUS).splitlines())
    said = {row[0]: row[-1].strip() for row in rows if len(row) > 1}
    if "wsrep_cluster_status" not in said:
        raise Unanswered("what it says is not MariaDB's replication status")
    return _Replication(said)


def _member(name: str, found: _Replication, view: tuple[str, str] | None, answer: Answer) -> LivingMember:
    state = found.said.get("wsrep_local_state_comment", "in an unknown state")
    if not found.is_primary:
        says = f"{state}, in a component without a majority ({found.said['wsrep_cluster_status']})"
    elif found.view != view:
        says = f"{state}, in another view of the cluster than the others"
    else:
        says = state if found.has_data else f"{state}: it has not all data yet"
    return LivingMember(
        name,
        counts=found.is_primary and found.view == view and found.has_data,
        says=says,
        troubles=(*_behind(found), *disk_use(answer)),
        version=found.said.get("version", ""),
    )


def _behind(found: _Replication) -> Iterator[str]:
    if found.said.get("wsrep_flow_control_requested") == "true":
        queue = found.number("wsrep_local_recv_queue")
        yield f"it pauses all writers by flow control: {queue:.0f} transactions wait in its receive queue"


def _figures(primary: Sequence[_Replication], size: int | None) -> Iterator[str]:
    if primary:
        yield f"primary component of {max(each.number('wsrep_cluster_size') for each in primary):.0f}"
        yield f"receive queue {max(each.number('wsrep_local_recv_queue') for each in primary):.0f}"
    if size:
        yield f"{size / 2**20:.0f} MiB on disk"


def _notes(found: Mapping[str, _Replication]) -> Iterator[str]:
    """Yields what flow control has done since the members started: it says nothing about now."""
    for name, each in found.items():
        if (paused := each.number("wsrep_flow_control_paused")) >= SLOWED:
            yield f"flow control has paused writers for {paused:.0%} of the time since {name} started"
