"""Whether members of a quorum write an entry to the disk before they acknowledge it: settings that switch this off.

Rules on etcd, Galera, RabbitMQ and Ceph have modules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.configuration import written
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, is_quorum, pod_groups
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule

_NO = r"""["']?(?:no|off|false|0)\b"""
_UNSYNCED: Mapping[QuorumKind, re.Pattern[str]] = {
    QuorumKind.ZOOKEEPER: re.compile(rf"\b(forceSync)[ \t]*[=:][ \t]*{_NO}", re.IGNORECASE),
    QuorumKind.MONGODB: re.compile(rf"(--nojournal)\b|\b(journal)(?:\.enabled|:\s+enabled):[ \t]*{_NO}"),
    QuorumKind.LOGS: re.compile(r"""\b(index\.translog\.durability)["']?[ \t]*[=:][ \t]*["']?async\b"""),
    QuorumKind.POSTGRES: re.compile(rf"\b(fsync|synchronous_commit|full_page_writes)[ \t]*[=:][ \t]*{_NO}"),
    QuorumKind.CONSUL: re.compile(r"""\b(no_sync)["']?[ \t]*[=:][ \t]*true\b"""),
}
"""Settings that acknowledge before the sync, by kind of quorum, as their products document them.

https://zookeeper.apache.org/doc/r3.9.3/zookeeperAdmin.html (unsafe options); https://www.mongodb.com/docs/v6.0/reference/
configuration-options/; https://docs.opensearch.org/latest/install-and-configure/configuring-opensearch/index-settings/;
https://www.postgresql.org/docs/17/runtime-config-wal.html; https://developer.hashicorp.com/consul/docs/agent/config.
"""


def _is_known(facts: Facts, group: MemberGroup) -> bool:
    return group.kind in _UNSYNCED and is_quorum(facts, group)


@rule(
    id="members-sync-writes",
    title="ZooKeeper, MongoDB, OpenSearch, PostgreSQL and Consul write to the disk before they acknowledge",
    severity=Severity.CRITICAL,
    rationale="Each of these products has a setting that acknowledges an entry before it is on the disk. A power "
    "failure then loses what a majority has acknowledged, and a member that forgot its vote can vote again.",
    sources=(RuleSource("project", "Quorums", 26),),
    remediation="Remove forceSync=no of ZooKeeper, journal.enabled: false of MongoDB, "
    "index.translog.durability: async of OpenSearch, fsync=off, synchronous_commit=off and full_page_writes=off of "
    "PostgreSQL, and no_sync of Consul.",
    subjects=pod_groups,
    applies=_is_known,
    not_applicable_reason="the stack has no quorum of these products",
    since="0.7.0",
)
def members_sync_writes(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Reads files, commands and environment variables. All products sync by default."""
    if group.kind is None:
        return
    pattern = _UNSYNCED[group.kind]
    for workload in group.workloads:
        for each in written(workload, facts.config_maps):
            for found in pattern.finditer(each.read()):
                setting = next(name for name in found.groups() if name)
                yield RuleProblem(f"{each.name} of {workload.title} switches off the sync ({setting})", "the default")
