"""Sizes of quorums and of the metrics store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contract import ETCD
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import WSREP_ON
from policy.facts.programs import QuorumKind
from policy.facts.quorums.galera import Galera, galera, is_true
from policy.facts.quorums.quorums import (
    MemberGroup,
    groups,
    is_metrics_store,
    is_quorum,
    is_single_database,
    majority,
    pods,
)
from policy.facts.stack import Facts
from policy.facts.stack_configuration import LAB
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from text.plural import pluralize

LEAST_STORES = 3


def _is(kind: QuorumKind) -> Callable[[Facts, MemberGroup], bool]:
    return lambda _facts, group: group.kind is kind


def _wrong_size(members: int, *, least: int = 3, most: int | None = None, odd: bool = True) -> Iterator[RuleProblem]:
    sizes = [str(size) for size in range(least, (most or least) + 1) if not odd or size % 2]
    expected = f"{', '.join(sizes[:-1])} or {sizes[-1]}" if most else f"{least} or more{', an odd number' * odd}"
    tolerated = pluralize(max(members - majority(members), 0), "failure")
    if members < least:
        yield RuleProblem(
            f"{pluralize(members, 'member')} {'tolerates' if members == 1 else 'tolerate'} {tolerated}", expected
        )
    elif most and members > most:
        yield RuleProblem(f"{members} members slow down every write", expected)
    elif odd and members % 2 == 0:
        yield RuleProblem(f"{members} members tolerate {tolerated}, no more than {members - 1}", expected)


@rule(
    id="etcd-size",
    title="etcd has 3, 5 or 7 members",
    severity=Severity.CRITICAL,
    rationale="etcd stores the state of Kubernetes and serves while a majority of its members is up. An even number "
    "tolerates no more failures than one member less. More than seven members slow down every write.",
    sources=(
        RuleSource("004", "5.5.4", 60),
        RuleSource("004", "5.5.9", 5),
        RuleSource("004", "5.5.3", 7),
        RuleSource("project", "Quorums", 5),
    ),
    remediation="Give the role etcd to three, five or seven servers or, without machines of this role, the role master "
    "(replicas, where etcd is a StatefulSet).",
    subjects=groups,
    applies=_is(QuorumKind.ETCD),
    not_applicable_reason="the stack has no etcd",
    parameters={"least": 3, "most": 7, "odd": True, "single member": "in a lab only"},
    single=(ETCD, "kubernetes:operator.etcd.io/"),
)
def etcd_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Expects 3, 5 or 7 members. A lab may run a single member."""
    members = group.size(facts)
    if not (members == 1 and facts.profile == LAB):
        yield from _wrong_size(members, most=7)


def _is_galera(facts: Facts, group: MemberGroup) -> bool:
    """Whether a group is a Galera by its program, or a single database whose settings are those of a Galera."""
    if group.kind is QuorumKind.GALERA:
        return True
    if group.kind is not None or not group.workloads or not all(is_single_database(each) for each in group.workloads):
        return False
    settings = [galera(facts, each) for each in group.workloads]
    return any(each.options and not _is_off(each) for each in settings)


def _is_off(settings: Galera) -> bool:
    """Whether the settings say that a single database is no Galera."""
    written = settings.option(WSREP_ON)
    return written is not None and not is_true(written)


@rule(
    id="galera-size",
    title="Galera has 3 or 5 members",
    severity=Severity.CRITICAL,
    rationale="Galera stops serving on the side of a partition without a majority. Every member acknowledges each "
    "write, so more than five cost more than they add.",
    sources=(
        RuleSource("004", "2.2.5", 5),
        RuleSource("004", "2.2.5", 6),
        RuleSource("004", "5.4.16", 20),
    ),
    remediation="Set the database's replicas to 3 or 5 (quorate:services.mysqld.replicas).",
    subjects=groups,
    applies=_is_galera,
    not_applicable_reason="the stack has no Galera",
    parameters={"least": 3, "most": 5, "odd": True},
    single=("kubernetes:pxc.percona.com/", "kubernetes:k8s.mariadb.com/"),
)
def galera_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Expects 3 or 5 members."""
    yield from _wrong_size(group.size(facts), most=5)


@rule(
    id="rabbitmq-size",
    title="RabbitMQ has an odd number of members, at least 3",
    severity=Severity.CRITICAL,
    rationale="With pause_minority, the side of a partition without a majority pauses. In an even cluster that "
    "splits in half, both sides pause.",
    sources=(
        RuleSource("004", "5.3.12", 10),
        RuleSource("004", "5.4.16", 19),
        RuleSource("project", "Quorums", 6),
    ),
    remediation="Set the message queue's replicas to an odd number from 3 (quorate:services.rabbitmq.replicas).",
    subjects=groups,
    applies=_is(QuorumKind.RABBITMQ),
    not_applicable_reason="the stack has no RabbitMQ",
    parameters={"least": 3, "odd": True},
    single=("kubernetes:rabbitmq.com/",),
)
def rabbitmq_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Expects an odd number of members, at least 3."""
    yield from _wrong_size(group.size(facts))


@rule(
    id="ceph-mon-size",
    title="Ceph has 3 or 5 monitors",
    severity=Severity.CRITICAL,
    rationale="Ceph's monitors agree on the cluster map by majority. Without a majority, no client reaches its data.",
    sources=(
        RuleSource("004", "5.4.14", 19),
        RuleSource("004", "5.3.14", 19),
    ),
    remediation="Set the monitors' replicas to 3 or 5 (quorate:services.ceph-mon.replicas).",
    subjects=groups,
    applies=_is(QuorumKind.CEPH_MON),
    not_applicable_reason="the stack has no Ceph monitor, as with an external Ceph",
    parameters={"least": 3, "most": 5, "odd": True},
    single=("kubernetes:ceph.rook.io/",),
)
def ceph_mon_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Expects 3 or 5 monitors."""
    yield from _wrong_size(group.size(facts), most=5)


@rule(
    id="metrics-store-size",
    title="The metrics store has at least 3 instances",
    severity=Severity.HIGH,
    rationale="Alerts depend on the metrics store, so it must survive the failures that it reports. Clustered InfluxDB "
    "votes. Instances of Prometheus do not vote, but each has its own copy of the metrics.",
    sources=(
        RuleSource("004", "5.3.15", 37),
        RuleSource("project", "Monitoring", 1),
    ),
    remediation="Set the metrics store's replicas to 3 or more (quorate:services.influxdb-grafana.replicas).",
    subjects=lambda facts: facts.workloads,
    applies=lambda _facts, workload: is_metrics_store(workload),
    not_applicable_reason="the stack has no metrics store",
    parameters={"least": 3},
)
def metrics_store_size(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Counts the instances of all workloads with the metrics store's row together."""
    alike = [each for each in facts.workloads if is_metrics_store(each) and each.row == workload.row]
    instances = sum(pods(facts, each) for each in (alike if workload.row else [workload]))
    if instances < LEAST_STORES:
        yield RuleProblem(pluralize(instances, "instance"), f"{LEAST_STORES} or more")


@rule(
    id="log-store-size",
    title="The log store has at least 3 members",
    severity=Severity.HIGH,
    rationale="Members of the log store elect a manager by majority and replicate each other's shards. Two members "
    "tolerate no failure.",
    sources=(RuleSource("004", "5.3.15", 39),),
    remediation="Set the log store's replicas to 3 or more (quorate:services.elasticsearch-kibana.replicas).",
    subjects=groups,
    applies=_is(QuorumKind.LOGS),
    not_applicable_reason="the stack has no log store",
    parameters={"least": 3},
)
def log_store_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Covers Elasticsearch and OpenSearch. An even number of members is allowed."""
    yield from _wrong_size(group.size(facts), odd=False)


_OWN_SIZES = frozenset(
    {QuorumKind.ETCD, QuorumKind.GALERA, QuorumKind.RABBITMQ, QuorumKind.CEPH_MON, QuorumKind.INFLUXDB, QuorumKind.LOGS}
)
"""Kinds of quorum that have their own size rule."""


def _other(facts: Facts, group: MemberGroup) -> bool:
    return group.kind not in (*_OWN_SIZES, QuorumKind.POSTGRES) and is_quorum(facts, group)


@rule(
    id="quorum-size",
    title="Quorums without a size rule of their own have an odd number of members, at least 3",
    severity=Severity.HIGH,
    rationale="ZooKeeper, Consul, Vault, MongoDB, OVN databases, Sentinel and most programs that keep data in several "
    "members decide by majority. Two members survive no failure; four survive no more failures than three.",
    sources=(RuleSource("project", "Quorums", 11),),
    remediation="Set the workload's replicas to an odd number, at least 3. If its instances do not vote, waive the "
    "rule for this workload, and write that as the reason.",
    subjects=groups,
    applies=_other,
    not_applicable_reason="every quorum of the stack has a size rule of its own",
    parameters={"least": 3, "odd": True, "without votes": "programs of the list in policy/facts/programs.py"},
    since="0.4.0",
)
def quorum_size(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Evaluates known programs without a size rule, and quorums that are recognized by their structure only."""
    yield from _wrong_size(group.size(facts))
