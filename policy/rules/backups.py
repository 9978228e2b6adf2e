"""Scheduled backups of the database.

These rules are advisory, because a program outside the stack may make the backups, and no rule can detect that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.facts.kubernetes.configuration import written
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import Quorum
from policy.facts.quorums import Group, groups
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Severity
from policy.rule import ADVISORY, Problem, Source, rule

_TOOLS = re.compile(r"\b(maria-?db-?backup|xtrabackup|maria-?db-dump|mysqldump|mydumper)\b")
"""Matches the names of backup programs for MariaDB and MySQL, in commands and in files that a pod mounts."""


def _schedules(facts: Facts) -> tuple[Workload, ...]:
    """Returns the CronJobs that are not suspended and run a backup program for a database."""
    jobs = (each for each in facts.workloads if each.kind == "CronJob")
    active = (each for each in jobs if not each.resource.props.at("spec", "suspend").flag())
    return tuple(
        each for each in active if any(_TOOLS.search(text.read()) for text in written(each, facts.config_maps))
    )


def _is_ours(facts: Facts, group: Group) -> bool:
    if group.kind is not Quorum.GALERA or facts.profile != PRODUCTION or not facts.clouds:
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
    sources=(Source("project", "Backups", 2),),
    remediation="Keep the CronJob mysqld-backup, or add a CronJob in the database's namespace that runs "
    "mariadb-backup or mariadb-dump.",
    subjects=groups,
    applies=_is_ours,
    not_applicable_reason="the stack has no cloud in production with a Galera of its own",
    enforcement=ADVISORY,
    since="0.6.0",
)
def database_is_backed_up(facts: Facts, group: Group) -> Iterator[Problem]:
    """Accepts a CronJob with a backup program in the namespace of Galera's members, unless it is suspended."""
    namespaces = {each.namespace for each in group.workloads}
    if not any(each.namespace in namespaces for each in _schedules(facts)):
        yield Problem("no CronJob that is not suspended backs up the database", "one that runs mariadb-backup")


@rule(
    id="backup-ends",
    title="Scheduled backups of the database have a deadline and do not overlap",
    severity=Severity.MEDIUM,
    rationale="A backup takes one database member out of service for a time. Without a deadline, a backup that hangs "
    "blocks all later backups. Backups that overlap put the load of several backups on the members at once.",
    sources=(Source("project", "Backups", 3),),
    remediation="Set jobTemplate.spec.activeDeadlineSeconds, and concurrencyPolicy: Forbid or Replace.",
    subjects=_schedules,
    not_applicable_reason="no CronJob of the stack backs up a database",
    enforcement=ADVISORY,
    since="0.6.0",
)
def backup_ends(_facts: Facts, job: Workload) -> Iterator[Problem]:
    """Checks activeDeadlineSeconds (default in Kubernetes: no deadline) and concurrencyPolicy (default: Allow)."""
    spec = job.resource.props.at("spec")
    if not spec.at("jobTemplate", "spec", "activeDeadlineSeconds").given():
        yield Problem("activeDeadlineSeconds is not set (default: none)", "a number of seconds")
    if spec.at("concurrencyPolicy").text("Allow") == "Allow":
        yield Problem("concurrencyPolicy is Allow (the default)", "Forbid or Replace")
