"""A member of etcd's own status: by etcdctl on its machine, or by its metrics, which the API server can fetch.

The metrics need no login on the machine, and name neither the other members nor which of them leads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cluster.objects import mapping, number, text, words
from operations.living.answers import Answer, Unanswered

STATUS = "status"
"""Question for the status by etcdctl."""
METRICS, HEALTH = "metrics", "health"
"""Questions at the port of etcd's metrics. The health is that of a linearizable read, which needs a majority."""
_LINE = re.compile(r'(\w+)(?:\{(?:server_id|server_version)="([^"]*)"\})? ([-+.\de]+)')


@dataclass(frozen=True)
class EtcdStatus:
    """A member's own status."""

    member: int
    leader: int | None
    """Id of the member that it follows; 0 if it has no leader; None if it has one and does not tell which."""
    index: int
    applied: int
    size: int
    quota: int
    is_learner: bool
    errors: tuple[str, ...]
    version: str
    has_majority: bool = False
    """Whether a linearizable read has just succeeded; False if none was made."""


def status_of(answer: Answer) -> EtcdStatus:
    """Returns a member's status by its answer. Raises Unanswered if that is none of etcd's."""
    return _by_metrics(answer) if METRICS in answer.parts else _by_command(answer)


def _by_command(answer: Answer) -> EtcdStatus:
    entries = answer.objects(STATUS)
    said = mapping(entries[0], "Status") if entries else {}
    if not number(said, "header", "member_id"):
        raise Unanswered("what it says about its status is not that of a member of etcd")
    return EtcdStatus(
        number(said, "header", "member_id"),
        number(said, "leader"),
        number(said, "raftIndex"),
        number(said, "raftAppliedIndex"),
        number(said, "dbSize"),
        number(said, "dbSizeQuota"),
        bool(said.get("isLearner")),
        words(said, "errors"),
        text(said, "version"),
    )


def _by_metrics(answer: Answer) -> EtcdStatus:
    found: dict[str, tuple[str, float]] = {}
    for line in answer.text(METRICS).splitlines():
        if match := _LINE.fullmatch(line):
            found[match[1]] = (match[2] or "", float(match[3]))
    try:
        member = int(found["etcd_server_id"][0], 16)
        has_leader, leads, learns = (
            bool(found[f"etcd_server_{name}"][1]) for name in ("has_leader", "is_leader", "is_learner")
        )
        index, applied = (int(found[f"etcd_server_proposals_{name}_total"][1]) for name in ("committed", "applied"))
        size, quota = (
            int(found[name][1]) for name in ("etcd_mvcc_db_total_size_in_bytes", "etcd_server_quota_backend_bytes")
        )
    except (KeyError, ValueError):
        raise Unanswered("what it says are not etcd's metrics") from None
    health = answer.document(HEALTH)
    reason = text(health, "reason")
    return EtcdStatus(
        member,
        member if leads else None if has_leader else 0,
        index,
        applied,
        size,
        quota,
        learns,
        (reason,) if "alarm" in reason.lower() else (),
        found.get("etcd_server_version", ("", 0.0))[0],
        text(health, "health") == "true",
    )
