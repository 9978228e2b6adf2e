"""Scheduled backups of the database.

These rules are advisory, because a program outside the stack may make the backups, and no rule can detect that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

import contract
from policy.facts.kubernetes.configuration import written
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, groups, pods
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.properties import NotKnown
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule

_TOOLS = re.compile(r"\b(maria-?db-?backup|xtrabackup|maria-?db-dump|mysqldump|mydumper)\b")
"""Matches the names of backup programs for MariaDB and MySQL, in commands and in files that a pod mounts."""


def _schedules(facts: Facts) -> tuple[Workload, ...]:
    """Returns the CronJobs that are not suspended and run a backup program for a database."""
    saving = (each for each in _active(facts) if not _tested_by(each))
    return tuple(
        each for each in saving if any(_TOOLS.search(text.read()) for text in written(each, facts.config_maps))
    )


def _active(facts: Facts) -> Iterator[Workload]:
    """Yields the CronJobs that are not suspended."""
    jobs = (each for each in facts.workloads if each.kind == "CronJob")
    return (each for each in jobs if not each.resource.props.at("spec", "suspend").flag())


def _tested_by(job: Workload) -> str:
    """Returns the CronJob whose backups a CronJob restores to test them; empty if it tests none."""
    return job.resource.props.at("metadata", "annotations", contract.TESTS_BACKUP).text("")


_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")


@lru_cache(maxsize=1024)  # each Galera is compared with the others
def _names_of(facts: Facts, group: MemberGroup) -> frozenset[str]:
    """Returns the names by which a backup refers to a Galera: members, their claims, and the Services to reach them."""
    members = {f"{each.name}-{ordinal}" for each in group.workloads for ordinal in range(pods(facts, each))}
    claims = {
        f"{claim.at('metadata', 'name').text()}-{each.name}-{ordinal}"
        for each in group.workloads
        for claim in each.claim_templates
        for ordinal in range(pods(facts, each))
    }
    # A proxy's configuration lists the members.
    proxies = (each for each in facts.workloads if each.kind == "Deployment")
    reached = (*group.workloads, *(each for each in proxies if not members.isdisjoint(_words(facts, each))))
    services = {each.name for each in facts.services if any(each.selects(workload) for workload in reached)}
    return frozenset(members | claims | services)


@lru_cache(maxsize=1024)  # each Galera compares its names with all workloads
def _words(facts: Facts, workload: Workload) -> frozenset[str]:
    """Returns the known words of a workload's configuration, and the names of the claims that it mounts."""
    words = set(workload.claim_names)
    for each in written(workload, facts.config_maps):
        with suppress(NotKnown):
            words.update(_NAME.findall(each.read()))
    return frozenset(words)


def _is_of(facts: Facts, job: Workload, group: MemberGroup) -> bool:
    """Whether a backup may be of a Galera: it names this Galera, or none of its namespace."""
    words = _words(facts, job)
    beside = (each for each in groups(facts) if each.workloads and each is not group)
    others = [
        each for each in beside if each.workloads[0].namespace == job.namespace and each.kind is QuorumKind.GALERA
    ]
    named = (each for each in (group, *others) if others and not words.isdisjoint(_names_of(facts, each)))
    found = next(named, None)
    if found is None and others:
        _require_known(facts, job)
    return found in (None, group)


def _require_known(facts: Facts, job: Workload) -> None:
    """Raises NotKnown if a text that could name the Galera of a backup is not known: the job's or a proxy's."""
    proxies = (each for each in facts.workloads if each.kind == "Deployment" and each.namespace == job.namespace)
    for workload in (job, *proxies):
        for text in written(workload, facts.config_maps):
            text.read()


def _in_production(facts: Facts) -> bool:
    return facts.profile == PRODUCTION and bool(facts.clouds)


def _is_ours(facts: Facts, group: MemberGroup) -> bool:
    if group.kind is not QuorumKind.GALERA or not _in_production(facts):
        return False
    if group.error:
        raise group.error
    return True


@rule(
    id="database-is-backed-up",
    title="Galera in production has a scheduled backup",
    severity=Severity.HIGH,
    rationale="Replication drops a table on every member at once. After that, or after the loss of all members, only "
    "the last backup still has the records of users, networks and virtual machines.",
    sources=(RuleSource("project", "Backups", 2),),
    remediation="Keep the CronJob mysqld-backup, which for a further Galera has its name. Or add a CronJob in the "
    "database's namespace that runs mariadb-backup or mariadb-dump.",
    subjects=groups,
    applies=_is_ours,
    not_applicable_reason="the stack has no cloud in production with a Galera of its own",
    enforcement=ADVISORY,
    since="0.6.0",
)
def database_is_backed_up(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Accepts a CronJob with a backup program in the namespace of Galera's members, unless it is suspended.

    A CronJob that names another Galera of the namespace, by a member, a claim or a Service, backs up only that one.
    """
    namespaces = {each.namespace for each in group.workloads}
    there = (each for each in _schedules(facts) if each.namespace in namespaces)
    if not any(_is_of(facts, each, group) for each in there):
        yield RuleProblem("no CronJob that is not suspended backs up the database", "one that runs mariadb-backup")


@rule(
    id="backup-ends",
    title="Scheduled backups of the database have a deadline and do not overlap",
    severity=Severity.MEDIUM,
    rationale="A backup takes one database member out of service for a time. Without a deadline, a backup that hangs "
    "blocks all later backups. Backups that overlap put the load of several backups on the members at once.",
    sources=(RuleSource("project", "Backups", 3),),
    remediation="Set jobTemplate.spec.activeDeadlineSeconds, and concurrencyPolicy: Forbid or Replace.",
    subjects=_schedules,
    not_applicable_reason="no CronJob of the stack backs up a database",
    enforcement=ADVISORY,
    since="0.6.0",
)
def backup_ends(_facts: Facts, job: Workload) -> Iterator[RuleProblem]:
    """Checks activeDeadlineSeconds (default in Kubernetes: no deadline) and concurrencyPolicy (default: Allow)."""
    spec = job.resource.props.at("spec")
    if not spec.at("jobTemplate", "spec", "activeDeadlineSeconds").given():
        yield RuleProblem("activeDeadlineSeconds is not set (default: none)", "a number of seconds")
    if spec.at("concurrencyPolicy").text("Allow") == "Allow":
        yield RuleProblem("concurrencyPolicy is Allow (the default)", "Forbid or Replace")


@rule(
    id="backup-is-restored",
    title="Scheduled backups of the database are restored on a schedule",
    severity=Severity.MEDIUM,
    rationale="A backup that was never restored may be incomplete or damaged, which is noticed when the data is lost.",
    sources=(RuleSource("project", "Backups", 4),),
    remediation="Keep the CronJob mysqld-backup-test. Or add one that restores the backups to a copy and compares "
    "it, with the annotation quorate.io/tests-backup and the name of the CronJob that makes them.",
    subjects=_schedules,
    applies=lambda facts, _job: _in_production(facts),
    not_applicable_reason="the stack has no cloud in production with a scheduled backup",
    enforcement=ADVISORY,
    since="0.7.0",
)
def backup_is_restored(facts: Facts, job: Workload) -> Iterator[RuleProblem]:
    """Looks for a CronJob in the same namespace that is not suspended and has the annotation.

    What the CronJob does is not read: the annotation is its owner's word.
    """
    beside = (each for each in _active(facts) if each.namespace == job.namespace)
    if not any(_tested_by(each) == job.name for each in beside):
        yield RuleProblem("no CronJob that is not suspended restores its backups", "one that compares them")
