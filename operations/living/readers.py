"""Which program a quorum of the plan is of, how its members are asked, and who reads the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from operations.living import ceph, galera, opensearch, ovn, rabbitmq
from operations.living.answers import Answer
from operations.living.quorum import LivingQuorum

Read = Callable[[str, Sequence[str], Mapping[str, Answer]], LivingQuorum]
"""Returns the state of a quorum by its name, the names of its members in the stack, and their answers."""


@dataclass(frozen=True)
class QuorumReader:
    """How the quorum of a process is read."""

    container: str
    """Container of a member's pod in which the questions are asked."""
    questions: Mapping[str, str]
    read: Read


READERS: Mapping[str, QuorumReader] = {
    "mysqld": QuorumReader("mariadb", galera.QUESTIONS, galera.read),
    "rabbitmq": QuorumReader("rabbitmq", rabbitmq.QUESTIONS, rabbitmq.read),
    "ceph-mon": QuorumReader("ceph-mon", ceph.QUESTIONS, ceph.read),
    "elasticsearch-kibana": QuorumReader("opensearch", opensearch.QUESTIONS, opensearch.read),
    "ovn-nb": QuorumReader("ovn-nb-db-server", ovn.questions("ovn-nb"), ovn.read),
    "ovn-sb": QuorumReader("ovn-sb-db-server", ovn.questions("ovn-sb"), ovn.read),
}
"""By the process that a member runs. etcd has no pod: its machines are asked over SSH."""
