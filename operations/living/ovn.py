"""Reads a database of OVN, a Raft cluster of ovsdb-server: its members, its leader and its log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blueprint.plan.quorum_limits import majority
from openstack.ovn_clients import DATABASE_NAMES
from operations.living.answers import DISK, Answer, Unanswered, disk_use
from operations.living.quorum import LivingMember, LivingQuorum, heard, with_votes

STATUS = "status"
BACKLOG = 1000
"""Entries of the log that are not committed or applied from which the database is called behind. Project figure."""
_SERVER = re.compile(r"^ +([0-9a-f]{4}) \(\1 at tcp:([^.:]+)[^)]*\)", re.MULTILINE)
_CONTROL = "/tmp/ovsdb-server.ctl"  # noqa: S108 - in the member's container (openstack/scripts/ovn_member/)


@dataclass(frozen=True)
class _Status:
    """What a member says: its own id, its leader's, its state, and the name of each server by id."""

    server: str
    leader: str
    state: str
    role: str
    behind: int
    servers: tuple[tuple[str, str], ...]
    """Pairs of id and name. A member that lost its volume has two ids until the leader removes the old one."""

    @property
    def takes_part(self) -> bool:
        return self.state == "cluster member" and self.leader not in ("", "unknown")


def questions(process: str) -> dict[str, str]:
    """Returns the questions to a member of a database."""
    status = f"ovs-appctl --timeout=8 --target {_CONTROL} cluster/status {DATABASE_NAMES[process]}"
    return {STATUS: status, DISK: "df -Pk /var/lib/ovn"}


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of a database. `declared`: names of the stack's members; `answers`: theirs, by name.

    Who has a vote is in the leader's list of members: one that goes on alone after its majority was lost has no other.
    """
    found, silent = heard(declared, answers, _status)
    leaders = Counter(
        each.server if each.leader == "self" else each.leader for each in found.values() if each.takes_part
    )
    leader = max(leaders, key=lambda each: (leaders[each], each), default="")
    view = next((each for each in found.values() if each.server == leader), None)
    listed = [member for _, member in view.servers] if view else declared
    together = {member for member, each in found.items() if each.takes_part and leader in (each.server, each.leader)}
    members = tuple(
        silent.get(member) or _member(member, found[member], member in together, answers[member]) for member in declared
    )
    return LivingQuorum(
        name,
        "ovn",
        with_votes(members, listed),
        serves=len(together.intersection(listed)) >= majority(len(listed)) if found else None,
        troubles=tuple(_troubles(view, declared)),
    )


def _status(answer: Answer) -> _Status:
    text = answer.text(STATUS)
    if not (state := _field(text, "Status")):
        raise Unanswered("what it says is not the status of a cluster")
    behind = sum(int(_field(text, f"Entries not yet {what}") or 0) for what in ("committed", "applied"))
    return _Status(
        _field(text, "Server ID").partition(" ")[0],
        _field(text, "Leader"),
        state,
        _field(text, "Role"),
        behind,
        tuple(_SERVER.findall(text)),
    )


def _field(text: str, name: str) -> str:
    found = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _member(name: str, status: _Status, takes_part: bool, answer: Answer) -> LivingMember:
    if takes_part:
        says = status.role
    elif status.takes_part:
        says = f"follows another leader, {status.leader}"
    else:
        says = f"{status.state}, knows no leader" if status.state == "cluster member" else status.state
    return LivingMember(name, takes_part, says, leads=takes_part and status.role == "leader", troubles=disk_use(answer))


def _troubles(view: _Status | None, declared: Sequence[str]) -> list[str]:
    """Returns what the leader's view shows. `view`: None without a leader that answers."""
    if view is None:
        return []
    troubles = [f"{view.behind} entries of the leader's log wait"] if view.behind >= BACKLOG else []
    for member, count in Counter(member for _, member in view.servers).items():
        if count > 1:
            troubles.append(f"{member} is {count} times in the list of members: the old identity is not removed yet")
    if missing := sorted(set(declared) - {member for _, member in view.servers}):
        troubles.append(f"not in the list of members: {', '.join(missing)}")
    return troubles
