"""Identifies the workloads whose pods are quorum members, and groups workloads whose pods form one quorum.

A workload is a quorum if it has several replicas with their own claims or stable names, or if several workloads of one
program discover each other (peers.py). Known voting programs, the workload's row in the reference architecture and the
list of non-voting programs (programs.py) take precedence. Row, name and images decide the kind of quorum, such as etcd;
an annotation with an unknown row has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from contract import NAME
from policy.facts.components import EtcdFacts
from policy.facts.kubernetes.workload import REPLICATED, Workload
from policy.facts.programs import QuorumKind, kind_of, may_run_alone, without_votes
from policy.facts.quorums.peers import peers
from policy.facts.stack import Facts
from policy.properties import NotKnown
from policy.resource import Resource
from policy.wording import join_names

METRICS_ROW = "Influxdb + Grafana"
"""The row of the metrics store. Its program decides whether its pods vote: clustered InfluxDB does, Prometheus not."""
_BY_ROW = {
    "mysqld-server": QuorumKind.GALERA,
    "rabbitmq-server": QuorumKind.RABBITMQ,
    "ceph-mon": QuorumKind.CEPH_MON,
    "Elasticsearch + Kibana": QuorumKind.LOGS,
}
_ONLY_GALERA = ("mysqld", "mariadb-galera", "galera", "percona-xtradb-cluster")
"""Names of workloads that are always a Galera; a workload named mariadb may be a single database."""
_BY_NAME = {
    **{str(kind): kind for kind in QuorumKind},
    **dict.fromkeys(("mariadb", "mariadb-galera", "galera", "percona", "percona-xtradb-cluster"), QuorumKind.GALERA),
    **dict.fromkeys(("rabbitmq-server", "rabbitmq-cluster"), QuorumKind.RABBITMQ),
    **dict.fromkeys(("elasticsearch", "opensearch"), QuorumKind.LOGS),
}


def quorum_of(workload: Workload) -> QuorumKind | None:
    """Returns the kind of quorum that the workload's pods are members of; None if row, name and images name no kind."""
    if not workload.is_long_running:
        return None
    if workload.row in _BY_ROW:
        return _BY_ROW[workload.row]
    return None if is_single_database(workload) else _kind_by_program(workload)


def is_single_database(workload: Workload) -> bool:
    """Whether the workload is one instance of a database server that can run without Galera.

    Its number must be written: without it, a Galera whose number was forgotten would not be found. The instance may
    still be a Galera by its settings, which the rule on Galera's size reads.
    """
    if workload.kind not in REPLICATED or workload.replicas != 1 or workload.row in _BY_ROW:
        return False
    name = workload.program or workload.labels.get(NAME)
    if name in _ONLY_GALERA or not workload.spec.at("replicas").given():
        return False
    return _kind_by_program(workload) is QuorumKind.GALERA and may_run_alone(workload.images)


def _kind_by_program(workload: Workload) -> QuorumKind | None:
    """Returns the kind of quorum that name, images and commands of the workload name; None if they name no kind."""
    stateful = workload.kind == "StatefulSet"
    several = workload.kind in REPLICATED and (workload.replicas or 0) > 1
    if not stateful and not several and workload.kind != "DaemonSet":
        return None
    name = workload.program or workload.labels.get(NAME)
    if stateful and name in _BY_NAME:
        return _BY_NAME[name]
    return _program_kind(workload, several=several, stable=stateful)


def _program_kind(workload: Workload, *, several: bool, stable: bool) -> QuorumKind | None:
    """Returns the kind of quorum by the workload's images and commands; None if no program is known to vote.

    Raises NotKnown if a command is not known and the images name no kind.
    """
    try:
        started = workload.started
    except NotKnown:
        kind = kind_of(workload.images, several=several, stable=stable)
        if kind is None:
            raise
        return kind
    return kind_of(workload.images, several=several, stable=stable, started=started)


def is_metrics_store(workload: Workload) -> bool:
    """Whether the workload is a metrics store: its row is the row for metrics, or it has no row and runs InfluxDB."""
    if workload.row is not None:
        return workload.is_long_running and workload.row == METRICS_ROW
    return workload.labels.get(NAME) == "influxdb-grafana" or quorum_of(workload) is QuorumKind.INFLUXDB


@lru_cache(maxsize=4096)  # most rules call this for each workload
def is_member(facts: Facts, workload: Workload) -> bool:
    """Whether the workload's pods are members of a quorum."""
    if not workload.is_long_running:
        return False
    if quorum_of(workload) is not None:
        return True
    row = facts.row(workload) or facts.accompanied(workload)
    if row is not None:
        return row.quorum and facts.row(workload) is row
    return _built_as_quorum(facts, workload) and not without_votes(workload.images)


def _built_as_quorum(facts: Facts, workload: Workload) -> bool:
    """Whether the workload is built like a quorum: replicas with own claims or stable names, or peer workloads."""
    if workload.kind == "DaemonSet":
        return False
    if workload.replicas is not None and workload.replicas > 1:
        if workload.kind == "StatefulSet":
            return bool(workload.claim_templates) or bool(workload.spec.at("serviceName").text())
        leading = [each for each in facts.services if each.selects(workload)]
        return bool(leading) and all(each.headless for each in leading)
    return bool(workload.replicas) and peers(facts).has_peer(workload)


@dataclass(frozen=True)
class MemberGroup:
    """Pods or machines that are members of one quorum, or may be: of one or several workloads, or an etcd cluster."""

    resource: Resource
    """The resource that findings about the group name; of several workloads, the first by name."""
    title: str
    workloads: tuple[Workload, ...] = ()
    etcd: EtcdFacts | None = None
    error: Exception | None = None
    """The error if it is unknown which other workloads belong to the group; None if this is known."""

    @property
    def kind(self) -> QuorumKind | None:
        """The kind of quorum, such as etcd; None if the program is not known. The group may still be a quorum."""
        if not self.workloads:
            return QuorumKind.ETCD
        known = (quorum_of(each) for each in self.workloads)
        if not self.several:
            return next(known)
        programs = (_program_kind(each, several=True, stable=True) for each in self.workloads)
        return next((kind for kind in (*known, *programs) if kind), None)

    @property
    def several(self) -> bool:
        """Whether the group's members are pods of several workloads."""
        return len(self.workloads) > 1

    def size(self, facts: Facts) -> int:
        """Returns the number of the group's members."""
        if self.etcd:
            return len(self.etcd.members)
        return sum(pods(facts, each) for each in self.workloads)


def pods(facts: Facts, workload: Workload) -> int:
    """Returns the number of a workload's pods; for a DaemonSet, the number of its eligible nodes."""
    return len(facts.eligible(workload)) if workload.replicas is None else workload.replicas


@lru_cache(maxsize=2)  # a comparison of two stacks needs both
def groups(facts: Facts) -> tuple[MemberGroup, ...]:
    """Returns the groups of a stack: etcd clusters on machines, quorums of pods, and other long-running workloads.

    A workload that does not form a quorum with other workloads is a group of its own.
    """
    machines = tuple(MemberGroup(etcd.resource, etcd.title, etcd=etcd) for etcd in facts.etcds)
    return (*machines, *_together(facts))


def group_of(facts: Facts, workload: Workload) -> MemberGroup:
    """Returns the group of pods that a long-running workload belongs to."""
    return next(group for group in groups(facts) if workload in group.workloads)


def cluster_of(facts: Facts, workload: Workload) -> MemberGroup:
    """Returns the group of pods that a long-running workload belongs to.

    Raises the group's error if it is unknown which other workloads belong to the group.
    """
    group = group_of(facts, workload)
    if group.error:
        raise group.error
    return group


def pod_groups(facts: Facts) -> Iterator[MemberGroup]:
    """Returns the groups whose members are pods, without etcd clusters on machines."""
    return (group for group in groups(facts) if group.workloads)


def is_quorum(facts: Facts, group: MemberGroup) -> bool:
    """Whether the group is a quorum with several members. Raises the group's error if its members are not known."""
    if group.error:
        raise group.error
    return any(is_member(facts, each) for each in group.workloads) and group.size(facts) > 1


@lru_cache(maxsize=2)  # a comparison of two stacks needs both
def voting_nodes(facts: Facts) -> frozenset[str]:
    """Names of masters, and of nodes that run a quorum member or are eligible for one."""
    fixed = {each.node for etcd in facts.etcds for each in etcd.members}
    fixed |= {each.node for tier in facts.master_tiers for each in tier.masters}
    voters = [each for each in facts.workloads if facts.nodes and is_member(facts, each)]
    return frozenset(fixed | {node.name for each in voters for node in facts.eligible(each)})


def majority(members: int) -> int:
    """Returns how many of `members` members are a majority, which must be up so that the quorum serves."""
    return members // 2 + 1


def _together(facts: Facts) -> list[MemberGroup]:
    """Groups the long-running workloads of a stack: workloads whose pods form one quorum are one group."""
    found: list[MemberGroup] = []
    for workload in facts.workloads:
        if not workload.is_long_running:
            continue
        alone = MemberGroup(workload.resource, workload.title, (workload,))
        try:
            mates = _mates(facts, found, workload) if is_member(facts, workload) else []
        except Exception as reason:  # rules report the reason for this group
            found.append(replace(alone, error=reason))
            continue
        found = [group for group in found if group not in mates]
        found.append(_joined([*mates, alone]) if mates else alone)
    return found


def _mates(facts: Facts, groups: list[MemberGroup], workload: Workload) -> list[MemberGroup]:
    """Returns those of the groups whose members vote in the same quorum as the workload's pods."""
    return [
        group
        for group in groups
        if not group.error
        and any(is_member(facts, each) and _same_quorum(facts, each, workload) for each in group.workloads)
    ]


def _joined(groups: list[MemberGroup]) -> MemberGroup:
    workloads = tuple(each for group in groups for each in group.workloads)
    title = f"{join_names(sorted({f'{each.kind}s' for each in workloads}))} "
    title += join_names([each.resource.name for each in workloads])
    first = min(workloads, key=lambda each: each.resource.name)
    return MemberGroup(first.resource, title, workloads)


def _same_quorum(facts: Facts, one: Workload, other: Workload) -> bool:
    """Whether the pods of two workloads vote together: same kind of quorum or program, and they discover each other."""
    kind = quorum_of(one)
    same = (kind is not None and kind is quorum_of(other)) or peers(facts).alike(one, other)
    return same and peers(facts).find_each_other(one, other)
