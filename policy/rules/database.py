"""Galera's and ProxySQL's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.facts.kubernetes.configuration import ConfigMap, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import (
    BOOTSTRAP,
    CLUSTER_ADDRESS,
    DOUBLEWRITE,
    FLUSH_AT_COMMIT,
    IGNORE_QUORUM,
    IGNORE_SPLIT_BRAIN,
    MAX_WRITERS,
    WEIGHT,
    WSREP_ON,
)
from policy.facts.programs import QuorumKind
from policy.facts.quorums import proxysql
from policy.facts.quorums.galera import NEW_CLUSTER, Galera, galera, is_true
from policy.facts.quorums.quorums import MemberGroup, groups, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import RuleProblem, RuleSource, rule
from text.plural import pluralize

_OFF = ("0", "off", "false")
_OTHER_REPLICATION = re.compile(r"\bgroup[-_]replication[-_]group[-_]name\b")


def _is_galera(facts: Facts, group: MemberGroup) -> bool:
    if group.kind is not QuorumKind.GALERA:
        return False
    if group.error:
        raise group.error
    if group.size(facts) < 2:
        return False
    return not any(_replicates_otherwise(facts, each) for each in group.workloads)


def _replicates_otherwise(facts: Facts, workload: Workload) -> bool:
    """Whether the workload's configuration sets up MySQL Group Replication instead of Galera."""
    return any(_OTHER_REPLICATION.search(each.read()) for each in written(workload, facts.config_maps))


@rule(
    id="galera-keeps-quorum",
    title="Galera forms one cluster and serves only with a majority",
    severity=Severity.CRITICAL,
    rationale="Without wsrep_on each member is a separate database. With the empty address `gcomm://` a member starts "
    "a new cluster. With pc.ignore_sb or pc.ignore_quorum both sides of a partition accept writes, and the data of one "
    "side is lost. If a member with half of all weights fails, the majority is lost.",
    sources=(RuleSource("project", "Database", 2),),
    remediation="Write wsrep_on = ON and wsrep_cluster_address = gcomm://<names of members> into a .cnf file of a "
    "ConfigMap that the members mount (quorate:services.mysqld.config), and remove pc.ignore_sb, pc.ignore_quorum, "
    "pc.bootstrap and pc.weight from wsrep_provider_options, and the argument --wsrep-new-cluster. Bootstrap by hand, "
    "once.",
    subjects=groups,
    applies=_is_galera,
    not_applicable_reason="the stack has no Galera of several members",
    parameters={each.setting: each.value for each in (IGNORE_SPLIT_BRAIN, IGNORE_QUORUM, BOOTSTRAP)},
    since="0.4.0",
)
def galera_keeps_quorum(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Reads option files, arguments and environment variables. Assumes MariaDB's defaults for all other settings."""
    settings = {workload: galera(facts, workload) for workload in group.workloads}
    # Workloads with the same error produce one finding.
    yield from dict.fromkeys(problem for each in settings.values() for problem in _mistakes(each))
    weights = {workload: _weight(each) for workload, each in settings.items()}
    total = sum(weight * pods(facts, workload) for workload, weight in weights.items())
    heaviest = max(weights.values())
    if len(set(weights.values())) > 1 and heaviest * 2 >= total:
        yield RuleProblem(f"a member has weight {heaviest} of {total} in all", "less than half (default: 1 each)")


def _mistakes(settings: Galera) -> Iterator[RuleProblem]:
    if not is_true(settings.option(WSREP_ON) or WSREP_ON.value):
        yield RuleProblem(settings.says(WSREP_ON), "ON: without it each member is a separate database")
    if settings.peers is None:
        yield RuleProblem(CLUSTER_ADDRESS.unset, "gcomm:// with the names of members")
    elif not settings.peers:
        yield RuleProblem(
            f"{settings.says(CLUSTER_ADDRESS)}, which starts a new cluster", "gcomm:// with the names of members"
        )
    if NEW_CLUSTER in settings.options:
        given = settings.options[NEW_CLUSTER] or "argument --wsrep-new-cluster"
        yield RuleProblem(f"{given} starts a new cluster at each start", "none")
    for default in (IGNORE_SPLIT_BRAIN, IGNORE_QUORUM, BOOTSTRAP):
        if is_true(settings.provider(default) or default.value):
            yield RuleProblem(settings.provider_says(default), default.value)


def _weight(settings: Galera) -> int:
    written = settings.provider(WEIGHT) or WEIGHT.value
    if not written.isdecimal():
        raise Malformed(f"{WEIGHT.setting} is '{written}', not a whole number")
    return int(written)


@rule(
    id="galera-flushes-commits",
    title="Galera acknowledges a commit when it is on the disk",
    severity=Severity.CRITICAL,
    rationale="With innodb_flush_log_at_trx_commit 0 or 2, a power failure of all members loses the last second of "
    "acknowledged transactions. Without the doublewrite buffer, a page that was half written cannot be restored.",
    sources=(RuleSource("project", "Database", 4),),
    remediation="Remove innodb_flush_log_at_trx_commit and innodb_doublewrite from the option files and arguments of "
    "the members, or set them to 1 and ON (quorate:services.mysqld.config).",
    subjects=groups,
    applies=_is_galera,
    not_applicable_reason="the stack has no Galera of several members",
    parameters={FLUSH_AT_COMMIT.setting: FLUSH_AT_COMMIT.value, DOUBLEWRITE.setting: DOUBLEWRITE.value},
    since="0.7.0",
)
def galera_flushes_commits(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Reads option files and arguments. Assumes MariaDB's defaults for settings that are not set."""
    settings = [galera(facts, workload) for workload in group.workloads]
    yield from dict.fromkeys(problem for each in settings for problem in _unflushed(each))


def _unflushed(settings: Galera) -> Iterator[RuleProblem]:
    if settings.option(FLUSH_AT_COMMIT) not in (None, FLUSH_AT_COMMIT.value):
        yield RuleProblem(settings.says(FLUSH_AT_COMMIT), FLUSH_AT_COMMIT.value)
    if (settings.option(DOUBLEWRITE) or DOUBLEWRITE.value).lower() in _OFF:
        yield RuleProblem(settings.says(DOUBLEWRITE), DOUBLEWRITE.value)


@rule(
    id="proxysql-single-writer",
    title="ProxySQL sends writes to one Galera member at a time",
    severity=Severity.HIGH,
    rationale="Galera accepts writes on every member and rejects one of two conflicting transactions. OpenStack's "
    "transactions then end in deadlocks.",
    sources=(RuleSource("project", "Database", 3),),
    remediation="List the members in mysql_servers, and their hostgroups in mysql_galera_hostgroups with "
    "max_writers = 1.",
    subjects=lambda facts: facts.config_maps,
    applies=lambda _facts, config: any(each.groups for each in proxysql.configurations(config)),
    not_applicable_reason="no ConfigMap of the stack lists database servers for ProxySQL to forward writes to",
    parameters={MAX_WRITERS.setting: 1},
    since="0.4.0",
)
def proxysql_single_writer(_facts: Facts, config: ConfigMap) -> Iterator[RuleProblem]:
    """Reports hostgroups that are not in mysql_galera_hostgroups: ProxySQL balances writes over all their servers."""
    for each in proxysql.configurations(config):
        for group in each.groups:
            if not group.galera:
                members = pluralize(group.servers, "server")
                yield RuleProblem(
                    f"{each.file}: hostgroup {group.number} balances over {members}", "one writer at a time"
                )
            elif (group.max_writers or MAX_WRITERS.value) != "1":
                yield RuleProblem(f"{each.file}: {MAX_WRITERS.actual(group.max_writers)}", "1")
