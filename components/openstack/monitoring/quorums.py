"""The quorums that Prometheus watches: where their members answer, and when a member counts.

Members are listed by their stable names, not discovered: a lost member must stay a target, so that its loss is
reported. The lists come from the plan (docs/adr/0015-prometheus-targets.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from blueprint.plan.quorum_limits import majority
from components import metrics
from components.openstack.config.ports import MYSQL, RABBITMQ_METRICS
from components.openstack.config.wiring import Wiring


@dataclass(frozen=True)
class Quorum:
    """A quorum: its kind, its name, which is also the job's name, its members, and the query for those that count."""

    kind: Literal["galera", "rabbitmq", "etcd"]
    name: str
    targets: Mapping[str, str]
    """Host and port of each member's metrics, by the member's name."""
    counts: str
    """PromQL: a series for each member that answers, 1 if the member belongs to the part with the majority."""

    @property
    def size(self) -> int:
        """How many members the plan declares."""
        return len(self.targets)

    @property
    def majority(self) -> int:
        """How many of them must count."""
        return majority(self.size)


def quorums(wiring: Wiring) -> tuple[Quorum, ...]:
    """Returns the quorums of the stack that have metrics."""
    return tuple(_quorums(wiring))


def _quorums(wiring: Wiring) -> Iterator[Quorum]:
    if wiring.has("mysqld"):
        # 1 if the member is in the primary component. A member that receives a state transfer votes and counts.
        targets = _members(wiring, "mysqld", MYSQL)
        yield Quorum("galera", "galera", targets, 'mysql_global_status_wsrep_cluster_status{job="galera"}')
    for broker in filter(wiring.has, wiring.brokers):
        targets = _members(wiring, broker, RABBITMQ_METRICS)
        # A paused member does not answer. One that reaches too few others does not count even if it answers.
        tolerated = len(targets) - majority(len(targets))
        unreachable = f'rabbitmq_unreachable_cluster_peers_count{{job="{broker}"}}'
        yield Quorum("rabbitmq", broker, targets, f"{unreachable} <= bool {tolerated}")
    if wiring.masters:
        targets = {name: f"{address}:{metrics.ETCD}" for name, address in wiring.masters.items()}
        yield Quorum("etcd", "etcd", targets, 'etcd_server_has_leader{job="etcd"}')


def _members(wiring: Wiring, process: str, port: int) -> dict[str, str]:
    return {name.partition(".")[0]: f"{name}:{port}" for name in wiring.members(process)}
