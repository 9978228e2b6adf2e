"""Reads etcd: members, leader, raft's lag, the database's size against its quota, and alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cluster.objects import listed, number, text
from operations.living import backups, certificates
from operations.living.answers import BACKUPS, CERTIFICATES, DISK, Answer, disk_use, first
from operations.living.etcd_status import STATUS, EtcdStatus, status_of
from operations.living.quorum import LivingMember, LivingQuorum, heard

PKI = "/etc/etcd/pki"
MEMBERS = "members"
LAG = 5000
"""Entries of raft's log that a member may be behind: with more that are not applied, etcd refuses writes
(server/etcdserver/v3_server.go, maxGapBetweenApplyAndCommitIndex)."""
SHOWN = 100
"""Entries from which it is said that a member is behind: members are asked some tenths of a second apart, in which a
busy etcd writes some. Project figure."""
SPARE = 0.8
"""Part of the quota from which the database's size is named: a full one stops all writes. Project figure."""
MIB = 2**20


def questions(url: str, options: str = "") -> dict[str, str]:
    """Returns the questions to the member with a client URL, as command lines. `options`: etcdctl's further ones."""
    ctl = f"etcdctl --endpoints={url} --command-timeout=4s --dial-timeout=3s --write-out=json {options}".rstrip()
    return {MEMBERS: f"{ctl} member list", STATUS: f"{ctl} endpoint status", DISK: "df -Pk /var/lib/etcd"}


def questions_as_root(address: str) -> dict[str, str]:
    """Returns the questions on a machine that Quorate set up, to its own member, for a user who may become root."""
    options = f"--cacert={PKI}/ca.crt --cert={PKI}/server.crt --key={PKI}/server.key"
    aside = {CERTIFICATES: certificates.QUESTION, BACKUPS: backups.QUESTION}
    asked = questions(f"https://{address}:2379", options) | aside
    sudo = '[ "$(id -u)" -eq 0 ] && as_root= || as_root="sudo -n"; $as_root '
    return {name: sudo + command for name, command in asked.items()}


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of etcd. `declared`: names of the stack's members; `answers`: theirs, by name."""
    statuses, silent = heard(declared, answers, status_of)
    leader = _leader(statuses)
    newest = max((status.index for status in statuses.values()), default=0)
    # Whether each member of etcd's own list is a learner.
    present = first(answers.values(), _present) or {}
    members = (
        *silent.values(),
        *(_member(each, status, leader, newest, answers[each]) for each, status in statuses.items()),
        *(_foreign(each, learner) for each, learner in present.items() if each not in declared),
    )
    found = LivingQuorum(
        name,
        "etcd",
        tuple(sorted(members, key=lambda member: member.name)),
        serves=None,
        figures=tuple(_figures(statuses)),
        troubles=tuple(dict.fromkeys(_alarms(statuses))),
        notes=tuple(dict.fromkeys(_near_quota(statuses))),
    )
    # The list is read from a majority: a member without one gives none.
    is_read = bool(present) or any(status.has_majority for status in statuses.values())
    return replace(found, serves=is_read and found.counting >= found.needed) if statuses else found


def _present(answer: Answer) -> dict[str, bool]:
    """Returns the members of etcd's own list, with whether each is a learner. A member without a majority has none."""
    found = listed(answer.document(MEMBERS), "members")
    return {text(each, "name") or f"{number(each, 'ID'):x}": bool(each.get("isLearner")) for each in found}


def _leader(statuses: Mapping[str, EtcdStatus]) -> int:
    """Returns the id of the member that most members follow; 0 if there is none."""
    followed = Counter(status.leader for status in statuses.values() if status.leader)
    return max(followed, key=lambda member: followed[member], default=0)


def _member(name: str, status: EtcdStatus, leader: int, newest: int, answer: Answer) -> LivingMember:
    behind = newest - status.applied
    leads = bool(leader) and status.member == leader
    follows = leader if status.leader is None else status.leader
    if not follows and status.leader == 0:
        says = "has no leader"
    elif follows != leader:
        says = "follows another leader than the majority"
    else:
        role = "learner, without a vote" if status.is_learner else "leader" if leads else "follower"
        says = f"{role}, {behind} entries behind" if behind >= SHOWN else role
    troubles = (f"it is {behind} entries behind: etcd refuses writes from {LAG} on",) if behind >= LAG else ()
    return LivingMember(
        name,
        counts=status.leader != 0 and follows == leader,
        says=says,
        votes=not status.is_learner,
        leads=leads,
        troubles=(*troubles, *disk_use(answer)),
        version=status.version,
    )


def _foreign(name: str, is_learner: bool) -> LivingMember:
    says = "is in etcd's list of members, and not in the stack: it was not asked"
    return LivingMember(name, counts=False, says=says, votes=not is_learner)


def _figures(statuses: Mapping[str, EtcdStatus]) -> Iterator[str]:
    if statuses:
        size, quota = max((status.size, status.quota) for status in statuses.values())
        yield f"database {size / MIB:.0f} MiB" + (f" of {quota / MIB:.0f} MiB" if quota else "")


def _near_quota(statuses: Mapping[str, EtcdStatus]) -> Iterator[str]:
    for name, status in statuses.items():
        if status.quota and status.size >= status.quota * SPARE:
            used = status.size / status.quota
            yield f"the database of {name} has {used:.0%} of its quota: a full one stops all writes"


def _alarms(statuses: Mapping[str, EtcdStatus]) -> Iterator[str]:
    """Yields the alarms that members report, such as NOSPACE, with which etcd refuses writes."""
    for status in statuses.values():
        yield from (f"etcd has an alarm: {error}" for error in status.errors if "alarm" in error.lower())
