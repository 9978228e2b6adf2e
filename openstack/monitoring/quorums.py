"""The quorums that Prometheus watches: the addresses of their members, and the queries for members in the quorum.

Members are listed by their stable names instead of being discovered: a lost member must stay a target of Prometheus, so
that its loss is reported. The lists come from the plan (docs/adr/0015-prometheus-targets.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import contract
from blueprint.plan.quorum_limits import majority
from openstack.config.ports import CEPH_QUORUM, MYSQL, OPENSEARCH_METRICS, RABBITMQ_METRICS
from openstack.config.wiring import GALERA, Wiring, beside_galera
from openstack.ovn_clients import DATABASE_NAMES, METRICS

MONITORS, SEARCH = "ceph-mon", "elasticsearch-kibana"


@dataclass(frozen=True)
class WatchedQuorum:
    """A quorum that Prometheus watches. `name` is also the name of the scrape job for the members."""

    kind: Literal["galera", "rabbitmq", "ceph", "opensearch", "etcd", "ovn"]
    name: str
    targets: Mapping[str, str]
    """Host and port of each member's metrics, by the member's name."""
    counts: str
    """PromQL query with a series for each member that answers: 1 if the member is in the part with the majority."""
    exporter: str | None = None
    """The process that serves the members' metrics; None if the members serve them."""

    @property
    def size(self) -> int:
        """Number of members of the quorum in the plan."""
        return len(self.targets)

    @property
    def majority(self) -> int:
        """Number of members that are a majority."""
        return majority(self.size)


def quorums(wiring: Wiring) -> tuple[WatchedQuorum, ...]:
    """Returns the quorums whose members have metrics."""
    return tuple(_quorums(wiring))


def _quorums(wiring: Wiring) -> Iterator[WatchedQuorum]:
    for galera in filter(wiring.has, wiring.galeras):
        # 1 if the member is in the primary component. A member that receives a state transfer votes and counts.
        job = galera_job(galera)
        status = f'mysql_global_status_wsrep_cluster_status{{job="{job}"}}'
        yield WatchedQuorum(
            "galera", job, member_targets(wiring, galera, MYSQL), status, beside_galera("mysqld-exporter", galera)
        )
    for broker in filter(wiring.has, wiring.brokers):
        targets = member_targets(wiring, broker, RABBITMQ_METRICS)
        # A paused member does not answer. A member that answers but reaches too few others is not in the majority.
        tolerated = len(targets) - majority(len(targets))
        unreachable = f'rabbitmq_unreachable_cluster_peers_count{{job="{broker}"}}'
        yield WatchedQuorum("rabbitmq", broker, targets, f"{unreachable} <= bool {tolerated}")
    if wiring.has(MONITORS):
        # openstack/scripts/ceph_state.py writes the metric.
        targets = member_targets(wiring, MONITORS, CEPH_QUORUM)
        yield WatchedQuorum("ceph", MONITORS, targets, f'quorate_ceph_takes_part{{job="{MONITORS}"}}')
    if wiring.has(SEARCH):
        targets = member_targets(wiring, SEARCH, OPENSEARCH_METRICS)
        # The elected manager answers for all: a member that knows none says nothing.
        known = f'elasticsearch_cluster_health_number_of_nodes{{job="{SEARCH}"}}'
        yield WatchedQuorum("opensearch", SEARCH, targets, f"{known} >= bool {majority(len(targets))}")
    for database in filter(wiring.has, DATABASE_NAMES):
        targets = member_targets(wiring, database, wiring.records.port(database, METRICS))
        # A member without a leader takes no part. openstack/scripts/ovn_member/ writes the metric.
        yield WatchedQuorum("ovn", database, targets, f'quorate_ovn_takes_part{{job="{database}"}}')
    if wiring.etcd_members:
        targets = {name: f"{address}:{contract.ETCD_METRICS_PORT}" for name, address in wiring.etcd_members.items()}
        # A learner has a leader and no vote.
        votes = 'etcd_server_has_leader{job="etcd"} unless etcd_server_is_learner{job="etcd"} == 1'
        yield WatchedQuorum("etcd", "etcd", targets, votes)


def galera_job(galera: str) -> str:
    """Returns the name of the scrape job for a Galera cluster: galera, or a further cluster's name."""
    return "galera" if galera == GALERA.definition else galera


def member_targets(wiring: Wiring, process: str, port: int) -> dict[str, str]:
    """Returns host and port of each member of a StatefulSet, by the member's name."""
    return {name.partition(".")[0]: f"{name}:{port}" for name in wiring.members(process)}
