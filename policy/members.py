"""Which workloads are members of a quorum, recognised by what they are, whoever wrote them.

A workload says so by the row of its annotation. A StatefulSet without one is known by the name or the image of what it
runs. Several workloads that form one quorum together (one StatefulSet for each member) are judged each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from policy.components import Etcd
from policy.facts import Facts
from policy.kubernetes.workload import NAME, Workload
from policy.resource import Resource


class Quorum(StrEnum):
    """Kinds of quorum; where the reference architecture has a row for it, the row's service."""

    ETCD = "etcd"
    GALERA = "mysqld"
    RABBITMQ = "rabbitmq"
    CEPH_MON = "ceph-mon"
    METRICS = "influxdb-grafana"
    LOGS = "elasticsearch-kibana"


_BY_ROW = {
    "mysqld-server": Quorum.GALERA,
    "rabbitmq-server": Quorum.RABBITMQ,
    "ceph-mon": Quorum.CEPH_MON,
    "Influxdb + Grafana": Quorum.METRICS,
    "Elasticsearch + Kibana": Quorum.LOGS,
}
_BY_NAME = {
    **{str(kind): kind for kind in Quorum},
    **dict.fromkeys(("mariadb", "mariadb-galera", "galera", "percona", "percona-xtradb-cluster"), Quorum.GALERA),
    **dict.fromkeys(("rabbitmq-server", "rabbitmq-cluster"), Quorum.RABBITMQ),
    **dict.fromkeys(("influxdb",), Quorum.METRICS),
    **dict.fromkeys(("elasticsearch", "opensearch"), Quorum.LOGS),
}
_BY_IMAGE = (
    (re.compile(r"etcd"), Quorum.ETCD),
    (re.compile(r"(mariadb|galera|percona)(-.+)?"), Quorum.GALERA),
    (re.compile(r"rabbitmq(-.+)?"), Quorum.RABBITMQ),
    (re.compile(r"ceph-mon"), Quorum.CEPH_MON),
    (re.compile(r"influxdb(-.+)?"), Quorum.METRICS),
    (re.compile(r"(elasticsearch|opensearch)(-.+)?"), Quorum.LOGS),
)
_BESIDE = re.compile(r"exporter|backup|clustercheck|operator|proxy|toolkit|dashboards|agent|client")
"""Images that serve a quorum without being a member."""


def quorum_of(workload: Workload) -> Quorum | None:
    """The quorum whose members the workload's pods are, if they are any."""
    if not workload.lasting:
        return None
    if workload.row is not None:
        return _BY_ROW.get(workload.row)
    if workload.kind != "StatefulSet":
        return None
    if workload.labels.get(NAME) in _BY_NAME:
        return _BY_NAME[workload.labels[NAME]]
    return next((kind for image in workload.images if (kind := _by_image(image))), None)


def is_member(facts: Facts, workload: Workload) -> bool:
    """Whether the workload's pods are members of a quorum; an architecture of a user's own may have further ones."""
    if quorum_of(workload) is not None:
        return True
    row = facts.row(workload) if workload.lasting else None
    return row is not None and row.quorum


@dataclass(frozen=True)
class Group:
    """The members of one quorum: a workload's pods, or machines with etcd."""

    resource: Resource
    title: str
    workload: Workload | None = None
    etcd: Etcd | None = None

    @property
    def kind(self) -> Quorum | None:
        """None where the workload is no quorum at all."""
        return quorum_of(self.workload) if self.workload else Quorum.ETCD

    def size(self, facts: Facts) -> int:
        """How many members it has."""
        if self.workload is None:
            return len(self.etcd.members) if self.etcd else 0
        replicas = self.workload.replicas
        return len(facts.eligible(self.workload)) if replicas is None else replicas


def groups(facts: Facts) -> Iterator[Group]:
    """Everything that may be a quorum."""
    for etcd in facts.etcds:
        yield Group(etcd.resource, etcd.title, etcd=etcd)
    for workload in facts.workloads:
        if workload.lasting:
            yield Group(workload.resource, workload.title, workload=workload)


def majority(members: int) -> int:
    """Members that must be up for a quorum."""
    return members // 2 + 1


def _by_image(image: str) -> Quorum | None:
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    if _BESIDE.search(name):
        return None
    return next((kind for pattern, kind in _BY_IMAGE if pattern.fullmatch(name)), None)
