"""Lists programs by image name: programs whose instances vote in a quorum, and programs whose replicas do not vote.

A program that is in neither list is classified by the structure of its workload (quorums.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from formats import image_reference


class QuorumKind(StrEnum):
    """Kinds of quorum. If the reference architecture has a row for a kind, the value is the service of that row."""

    ETCD = "etcd"
    GALERA = "mysqld"
    POSTGRES = "postgres"
    """PostgreSQL has no voting quorum, but the instances of one database are evaluated like members of a quorum."""
    RABBITMQ = "rabbitmq"
    CEPH_MON = "ceph-mon"
    INFLUXDB = "influxdb"
    """Clustered InfluxDB (source document 004, 5.3.15). Prometheus, which runs in its place, has no voting replicas."""
    LOGS = "elasticsearch-kibana"
    ZOOKEEPER = "zookeeper"
    CONSUL = "consul"
    VAULT = "vault"
    MONGODB = "mongodb"
    OVN = "ovn-db"
    SENTINEL = "sentinel"


def _forms(forms: Mapping[str, QuorumKind]) -> tuple[tuple[re.Pattern[str], QuorumKind], ...]:
    return tuple((re.compile(form), kind) for form, kind in forms.items())


_VOTERS = _forms(
    {
        r"etcd(-.+)?": QuorumKind.ETCD,
        r"(mariadb|galera|percona)(-.+)?": QuorumKind.GALERA,
        r"rabbitmq(-.+)?": QuorumKind.RABBITMQ,
        r"ceph-mon": QuorumKind.CEPH_MON,
        r"influxdb(-.+)?": QuorumKind.INFLUXDB,
        r"(elasticsearch|opensearch)(-.+)?": QuorumKind.LOGS,
        r"zookeeper(-.+)?": QuorumKind.ZOOKEEPER,
        r"ovn-[ns]b(-db)?(-server)?": QuorumKind.OVN,
        r"(redis|valkey)-sentinel": QuorumKind.SENTINEL,
    }
)
_VOTERS_OF_SEVERAL = _forms(
    {
        r"mysql(-.+)?": QuorumKind.GALERA,
        r"postgres(ql)?(-.+)?|spilo(-.+)?|patroni": QuorumKind.POSTGRES,
        r"consul(-enterprise)?": QuorumKind.CONSUL,
        r"vault(-enterprise)?|openbao": QuorumKind.VAULT,
        r"mongo(db)?(-.+)?": QuorumKind.MONGODB,
    }
)
"""Voting programs that often run as a single instance. Their pods are quorum members only if there are several."""
_STARTED = _forms(
    {
        r"etcd": QuorumKind.ETCD,
        r"rabbitmq-server": QuorumKind.RABBITMQ,
        r"ceph-mon": QuorumKind.CEPH_MON,
        r"zkServer\.sh": QuorumKind.ZOOKEEPER,
    }
)
_STARTED_BY_SEVERAL = _forms(
    {
        r"(mariadb|mysql)d(-safe|_safe)?": QuorumKind.GALERA,
        r"consul": QuorumKind.CONSUL,
        r"vault|bao": QuorumKind.VAULT,
        r"mongod": QuorumKind.MONGODB,
    }
)
"""Voting programs with a single-instance mode, by the file name that a command starts, for images with any name."""
_AGENTS = frozenset({QuorumKind.CONSUL, QuorumKind.VAULT, QuorumKind.MONGODB})
"""Kinds whose images also run non-voting agents. Their pods are members only if they have data or stable names."""
_ALONE = re.compile(r"mariadb(d|-server|-safe)?|percona(-server)?|mysqld(-safe|_safe)?")
"""Matches names of images of a database server that is a Galera only if its settings say so."""
_BESIDE = re.compile(r"exporter|backup|clustercheck|operator|proxy|toolkit|dashboards|agent|client|router|browser")
"""Matches names of images that support a quorum without being a member, such as exporters and proxies."""

WITHOUT_VOTES: Mapping[str, str] = {
    r"alertmanager|prometheus-alertmanager": "instances gossip silences and do not elect a leader",
    r"prometheus(-server|-v\d+)?": "each instance scrapes and stores everything by itself",
    r"thanos|vmstorage|vmselect|vminsert|victoria-metrics": "instances store or query shares of the data, unelected",
    r"grafana(-oss|-enterprise)?|loki|tempo|mimir|cortex": "state is in a database or an object store; a hash ring "
    "needs no majority of its members",
    r"memcached": "clients choose the instance; instances do not know each other",
    r"fluentd|fluent-bit|logstash|vector|kafka-connect": "each instance forwards what it receives",
    r"haproxy|nginx|envoy|traefik|proxysql|pgbouncer": "instances balance connections, each by itself",
    r"keycloak|keycloak-x": "instances share a cache and keep their data in a database",
    r"ceph-osd|ceph-mgr|ceph-mds|ceph-radosgw": "the monitors vote for them",
    r"registry|harbor-.+": "instances share their storage",
    r"minio": "data is coded over drives; an even number of servers is as good",
    r"cassandra|scylla|scylladb": "each request counts the replicas of its own key; a ring may have any size",
    r"clickhouse(-server)?": "the keepers vote for it",
}
"""Programs whose replicas may have volumes or stable names but do not vote, each with the reason."""
_WITHOUT_VOTES = re.compile("|".join(WITHOUT_VOTES))


def kind_of(images: Iterable[str], *, several: bool, stable: bool, started: Iterable[str] = ()) -> QuorumKind | None:
    """Returns the kind of quorum that a pod with these images is a member of; None if no program is known to vote.

    `several`: there are several such pods. `stable`: the pods have data or stable names. `started`: file names of the
    programs that the pod's commands start, which take precedence over image names.
    """
    for name in started:
        for form, kind in (*_STARTED, *(_STARTED_BY_SEVERAL if several else ())):
            if form.fullmatch(name) and (stable or kind not in _AGENTS):
                return kind
    for name in _names(images):
        if _BESIDE.search(name):
            continue
        for form, kind in (*_VOTERS, *(_VOTERS_OF_SEVERAL if several else ())):
            if form.fullmatch(name) and (stable or kind not in _AGENTS):
                return kind
    return None


def may_run_alone(images: Iterable[str]) -> bool:
    """Whether no image of a pod is made for Galera alone: its database server can also run without a cluster."""
    voters = [name for name in _names(images) if not _BESIDE.search(name) and _is_galera(name)]
    return all(_ALONE.fullmatch(name) for name in voters)


def _is_galera(name: str) -> bool:
    return any(form.fullmatch(name) for form, kind in (*_VOTERS, *_VOTERS_OF_SEVERAL) if kind is QuorumKind.GALERA)


def without_votes(images: Iterable[str]) -> bool:
    """Whether all images of a pod belong to programs that are listed as not voting in a quorum."""
    names = _names(images)
    return bool(names) and all(_BESIDE.search(name) or _WITHOUT_VOTES.fullmatch(name) for name in names)


def _names(images: Iterable[str]) -> list[str]:
    return [image_reference.parse(image).name for image in images]
