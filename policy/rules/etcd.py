"""Settings of etcd that can cost it its quorum or its data."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.machines.machine import MachineFacts
from policy.facts.machines.mounts import is_in_memory
from policy.facts.product_defaults import ELECTION, FORCE_NEW_CLUSTER, HEARTBEAT, NO_FSYNC, STRICT_RECONFIGURATION
from policy.facts.programs import QuorumKind
from policy.facts.quorums.etcd_settings import EtcdSettings, etcd_settings, kubeadm_settings
from policy.facts.quorums.quorums import MemberGroup, groups
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule

LEAST_RATIO = 5
"""Minimum of election timeout divided by heartbeat interval, with which etcd starts.

See https://etcd.io/docs/v3.6/tuning/.
"""
_FIXED = ((FORCE_NEW_CLUSTER, False), (NO_FSYNC, False), (STRICT_RECONFIGURATION, True))


def _subjects(facts: Facts) -> Iterator[MemberGroup | MachineFacts]:
    yield from groups(facts)
    yield from facts.machines


def _has_settings(facts: Facts, subject: MemberGroup | MachineFacts) -> bool:
    if isinstance(subject, MachineFacts):
        return bool(kubeadm_settings(subject))
    return subject.kind is QuorumKind.ETCD and bool(etcd_settings(facts, subject))


@rule(
    id="etcd-settings-keep-quorum",
    title="etcd's settings keep its quorum and its data",
    severity=Severity.CRITICAL,
    rationale="With force-new-cluster a member forgets all others at each start. With unsafe-no-fsync a power failure "
    "loses entries that a majority has acknowledged. Without strict-reconfig-check a member can be removed although "
    "the other members are not a majority. Members with different timeouts elect leaders again and again.",
    sources=(RuleSource("project", "Quorums", 16),),
    remediation="Remove force-new-cluster, unsafe-no-fsync and strict-reconfig-check from etcd's flags, variables and "
    "files. Give all members the same election-timeout, at least five times the heartbeat-interval.",
    subjects=_subjects,
    applies=_has_settings,
    not_applicable_reason="the stack has no etcd, or names its members without files of their machines",
    reads_machine_files=True,
    parameters={each.setting: str(wanted).lower() for each, wanted in _FIXED},
    since="0.4.0",
)
def etcd_settings_keep_quorum(facts: Facts, subject: MemberGroup | MachineFacts) -> Iterator[RuleProblem]:
    """Checks each member's settings, with etcd's defaults for those not set, and that all members' timeouts agree."""
    members = kubeadm_settings(subject) if isinstance(subject, MachineFacts) else etcd_settings(facts, subject)
    for each in members:
        yield from _mistakes(each)
    timings = sorted({(each.number(HEARTBEAT), each.number(ELECTION)) for each in members})
    if len(timings) > 1:
        written = ", ".join(f"{heartbeat} and {election} ms" for heartbeat, election in timings)
        yield RuleProblem(f"members have different heartbeat intervals and election timeouts ({written})", "the same")


def _mistakes(member: EtcdSettings) -> Iterator[RuleProblem]:
    for default, wanted in _FIXED:
        place = member.differs(default, wanted)
        if place is not None:
            actual = f"{member.member} has {default.setting}={str(not wanted).lower()}{place}"
            yield RuleProblem(actual, str(wanted).lower())
    for setting, value, place in member.directories():
        if is_in_memory(value):
            actual = f"{member.member} has {setting}={value} in {place}, which is empty after a restart"
            yield RuleProblem(actual, "a directory on disk")
    heartbeat, election = member.number(HEARTBEAT), member.number(ELECTION)
    if election < LEAST_RATIO * heartbeat:
        yield RuleProblem(
            f"{member.member} has election timeout {election} ms and heartbeat interval {heartbeat} ms",
            f"an election timeout of at least {LEAST_RATIO} heartbeats",
        )
