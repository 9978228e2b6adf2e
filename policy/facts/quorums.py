"""Which workloads are members of a quorum, recognised by what they are, whoever wrote them.

A workload says so by the row of its annotation. One without is known by what it runs: a StatefulSet by the name of its
pods or their image, a Deployment or the like of several replicas by their image. Workloads of one row, or of one kind
behind one Service (a StatefulSet for each member), are one quorum together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import image_reference
from contract import NAME
from policy.facts.components import Etcd
from policy.facts.kubernetes.workload import REPLICATED, Workload
from policy.facts.resource import Resource
from policy.facts.stack import Facts
from policy.wording import join_names


class Quorum(StrEnum):
    """Kinds of quorum; where the reference architecture has a row for it, the row's service."""

    ETCD = "etcd"
    GALERA = "mysqld"
    POSTGRES = "postgres"
    """No quorum by itself, but instances of one database, which are lost together as members are."""
    RABBITMQ = "rabbitmq"
    CEPH_MON = "ceph-mon"
    INFLUXDB = "influxdb"
    """Clustered InfluxDB (004, 5.3.15). Prometheus, which has its row today, has replicas that do not vote."""
    LOGS = "elasticsearch-kibana"


METRICS_ROW = "Influxdb + Grafana"
"""The one row whose members vote or not by what runs in it: clustered InfluxDB does, Prometheus does not."""
_BY_ROW = {
    "mysqld-server": Quorum.GALERA,
    "rabbitmq-server": Quorum.RABBITMQ,
    "ceph-mon": Quorum.CEPH_MON,
    "Elasticsearch + Kibana": Quorum.LOGS,
}
_BY_NAME = {
    **{str(kind): kind for kind in Quorum},
    **dict.fromkeys(("mariadb", "mariadb-galera", "galera", "percona", "percona-xtradb-cluster"), Quorum.GALERA),
    **dict.fromkeys(("rabbitmq-server", "rabbitmq-cluster"), Quorum.RABBITMQ),
    **dict.fromkeys(("elasticsearch", "opensearch"), Quorum.LOGS),
}
_BY_IMAGE = (
    (re.compile(r"etcd(-.+)?"), Quorum.ETCD),
    (re.compile(r"(mariadb|galera|percona)(-.+)?"), Quorum.GALERA),
    (re.compile(r"rabbitmq(-.+)?"), Quorum.RABBITMQ),
    (re.compile(r"ceph-mon"), Quorum.CEPH_MON),
    (re.compile(r"influxdb(-.+)?"), Quorum.INFLUXDB),
    (re.compile(r"(elasticsearch|opensearch)(-.+)?"), Quorum.LOGS),
)
_DATABASES = (
    (re.compile(r"mysql(-.+)?"), Quorum.GALERA),
    (re.compile(r"postgres(ql)?(-.+)?|spilo(-.+)?|patroni"), Quorum.POSTGRES),
)
"""Often run alone, with nothing to lose a majority of: members only where there are several."""
_BESIDE = re.compile(r"exporter|backup|clustercheck|operator|proxy|toolkit|dashboards|agent|client|router|browser")
"""Images that serve a quorum without being a member."""


def quorum_of(workload: Workload) -> Quorum | None:
    """The quorum whose members the workload's pods are, if they are any."""
    if not workload.is_long_running:
        return None
    if workload.row is not None and workload.row != METRICS_ROW:
        return _BY_ROW.get(workload.row)
    several = workload.kind in REPLICATED and (workload.replicas or 0) > 1
    if workload.kind == "StatefulSet":
        if workload.labels.get(NAME) in _BY_NAME:
            return _BY_NAME[workload.labels[NAME]]
    elif not several:
        return None
    known = (*_BY_IMAGE, *_DATABASES) if several else _BY_IMAGE
    names = (image_reference.parse(image).name for image in workload.images)
    return next(
        (kind for name in names for form, kind in known if form.fullmatch(name) and not _BESIDE.search(name)), None
    )


def is_metrics_store(workload: Workload) -> bool:
    """Whether the workload stores metrics, voting or not: what runs in their row, or InfluxDB without a row."""
    if workload.row is not None:
        return workload.is_long_running and workload.row == METRICS_ROW
    return workload.labels.get(NAME) == "influxdb-grafana" or quorum_of(workload) is Quorum.INFLUXDB


def is_member(facts: Facts, workload: Workload) -> bool:
    """Whether the workload's pods are members of a quorum; an architecture of a user's own may have further ones."""
    if quorum_of(workload) is not None:
        return True
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.quorum


@dataclass(frozen=True)
class Group:
    """The members of one quorum: the pods of one workload or of several, or machines with etcd."""

    resource: Resource
    """Of several workloads that of the first by name."""
    title: str
    workloads: tuple[Workload, ...] = ()
    etcd: Etcd | None = None
    error: Exception | None = None
    """Why it is unknown which other workloads belong to it."""

    @property
    def kind(self) -> Quorum | None:
        """None where it is no quorum that we know by itself: an architecture of a user's own may have one."""
        return quorum_of(self.workloads[0]) if self.workloads else Quorum.ETCD

    def size(self, facts: Facts) -> int:
        """How many members it has."""
        if self.etcd:
            return len(self.etcd.members)
        return sum(pods(facts, each) for each in self.workloads)


def pods(facts: Facts, workload: Workload) -> int:
    """How many pods a workload keeps; of a DaemonSet one on every node that it may run on."""
    return len(facts.eligible(workload)) if workload.replicas is None else workload.replicas


@lru_cache(maxsize=2)  # a comparison has two sides
def groups(facts: Facts) -> tuple[Group, ...]:
    """Everything that may be a quorum; lasting workloads that are none, or that nobody can tell of, each by itself."""
    machines = tuple(Group(etcd.resource, etcd.title, etcd=etcd) for etcd in facts.etcds)
    return (*machines, *_together(facts))


def group_of(facts: Facts, workload: Workload) -> Group:
    """The group that a lasting workload belongs to."""
    return next(group for group in groups(facts) if workload in group.workloads)


def pod_groups(facts: Facts) -> Iterator[Group]:
    """Groups of pods: whatever may be a quorum on Kubernetes."""
    return (group for group in groups(facts) if group.workloads)


def is_quorum(facts: Facts, group: Group) -> bool:
    """Whether the group is a quorum of several members."""
    if group.error:
        raise group.error
    return any(is_member(facts, each) for each in group.workloads) and group.size(facts) > 1


def majority(members: int) -> int:
    """Members that must be up for a quorum."""
    return members // 2 + 1


def _together(facts: Facts) -> list[Group]:
    """Lasting workloads, those of one quorum in one group."""
    found: list[Group] = []
    for workload in facts.workloads:
        if not workload.is_long_running:
            continue
        alone = Group(workload.resource, workload.title, (workload,))
        try:
            mates = _mates(facts, found, workload) if is_member(facts, workload) else None
        except Exception as reason:  # whatever cannot be told of it: it is judged by itself, and the rule says why
            found.append(replace(alone, error=reason))
            continue
        if mates is None:
            found.append(alone)
        else:
            found[found.index(mates)] = _joined(mates, workload)
    return found


def _mates(facts: Facts, groups: Sequence[Group], workload: Workload) -> Group | None:
    """The group of the quorum that a member belongs to."""
    certain = (group for group in groups if not group.error and is_member(facts, group.workloads[0]))
    return next((group for group in certain if _same_quorum(facts, group.workloads[0], workload)), None)


def _joined(group: Group, workload: Workload) -> Group:
    workloads = (*group.workloads, workload)
    title = f"{workload.kind}s {join_names([each.resource.name for each in workloads])}"
    first = min(workloads, key=lambda each: each.resource.name)
    return replace(group, resource=first.resource, title=title, workloads=workloads)


def _same_quorum(facts: Facts, one: Workload, other: Workload) -> bool:
    if one.namespace != other.namespace:
        return False
    if one.row is not None or other.row is not None:
        return one.row == other.row
    kind = quorum_of(one)
    if kind is None or kind is not quorum_of(other):
        return False
    return any(service.selects(one) and service.selects(other) for service in facts.services)
