"""Changes of versions since the stack's last deployment: of OpenStack, Kubernetes, databases, brokers and Ceph.

A Quorate program records its versions in the stack's outputs, and the component Previous contains those of the last
complete deployment. blueprint/version_steps.py has the steps that upstream supports, each with its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.version_steps import VersionFault, problems
from policy.facts.components import PreviousFacts
from policy.facts.deployed_versions import deployed_versions
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule

NO_VERSIONS = "no earlier deployment of this stack recorded versions: it is the first, or its state was not opened"
UPDATES = RuleSource("004", "5.5.10", 62)


@dataclass(frozen=True)
class VersionUpdate:
    """An update of a stack whose last deployment recorded its versions."""

    resource: Resource
    previous: PreviousFacts
    title: str = "update"


def _updates(facts: Facts) -> Iterator[VersionUpdate]:
    for resource in facts.resources:
        if resource.type == PreviousFacts.TYPE:
            previous = PreviousFacts(resource)
            if previous.versions:
                yield VersionUpdate(resource, previous)


def _found(facts: Facts, update: VersionUpdate, fault: VersionFault) -> Iterator[RuleProblem]:
    is_live = any(cloud.is_live for cloud in facts.clouds)
    for each in problems(update.previous.versions, deployed_versions(facts), is_live=is_live):
        if each.fault is fault:
            yield RuleProblem(f"{each.key}: {each.actual}", each.expected)


@rule(
    id=VersionFault.NO_STEP.value,
    title="A new version follows the deployed one by a step that upstream supports",
    severity=Severity.CRITICAL,
    rationale="Databases, etcd and Ceph write data that older versions cannot read, and schemas are migrated from the "
    "versions before only. A version that goes back, or skips one, ends with data that no program reads.",
    sources=(UPDATES, RuleSource("project", "Updates", 5)),
    remediation="Write the version that the message names, run `make up`, and continue from there. To go back, restore "
    "a backup of the older version into a new cloud.",
    subjects=_updates,
    not_applicable_reason=NO_VERSIONS,
    since="0.7.0",
)
def version_step_supported(facts: Facts, update: VersionUpdate) -> Iterator[RuleProblem]:
    """Compares the versions of the last deployment with those of the resources, by the table of steps."""
    yield from _found(facts, update, VersionFault.NO_STEP)


@rule(
    id=VersionFault.UNTRUSTED.value,
    title="A new authority or key is trusted everywhere before it is used, and the old one while it is used",
    severity=Severity.CRITICAL,
    rationale="Members change one after the other, so that the old and the new state run side by side. A member whose "
    "certificate others do not trust, or that does not trust theirs, is cut off from the quorum. An API server "
    "refuses tokens whose key it does not trust, and the pods that have them. Computes that do not trust each other "
    "move no virtual machines.",
    sources=(RuleSource("project", "Updates", 10),),
    remediation="Replace an authority or key in three deployments: trust both generations, use the new one, trust it "
    "alone.",
    subjects=_updates,
    not_applicable_reason=NO_VERSIONS,
    since="0.7.0",
)
def authority_trusted_before_use(facts: Facts, update: VersionUpdate) -> Iterator[RuleProblem]:
    """Compares the generations of the last deployment with those of the components."""
    yield from _found(facts, update, VersionFault.UNTRUSTED)


@rule(
    id=VersionFault.TOGETHER.value,
    title="An update changes the version of one of OpenStack, Kubernetes, database, broker and Ceph",
    severity=Severity.CRITICAL,
    rationale="Each of them is upgraded member by member and checked before the next. If two change together, their "
    "quorums lack a member at the same time, and a fault cannot be attributed or undone alone.",
    sources=(RuleSource("004", "5.5.10", 15), RuleSource("project", "Updates", 6)),
    remediation="Keep the images of the other parts as the message says, deploy the first change, then make the others "
    "one at a time.",
    subjects=_updates,
    not_applicable_reason=NO_VERSIONS,
    since="0.7.0",
)
def one_version_at_a_time(facts: Facts, update: VersionUpdate) -> Iterator[RuleProblem]:
    """Counts another digest of an image as a change only beside a version that changes for certain."""
    yield from _found(facts, update, VersionFault.TOGETHER)


@rule(
    id=VersionFault.NO_OPERATION.value,
    title="No update changes the versions of a running cloud without an operation for it",
    severity=Severity.CRITICAL,
    rationale="An upgrade of a running cloud needs a backup, schema migrations in order, and a check of each quorum "
    "between its members. An update rolls everything at once and makes none of these.",
    sources=(UPDATES, RuleSource("project", "Updates", 7)),
    remediation="Leave the version as it is deployed. docs/not-built.md says what an upgrade of a running cloud takes.",
    subjects=_updates,
    applies=lambda facts, _update: any(cloud.is_live for cloud in facts.clouds),
    not_applicable_reason="no running cloud is updated, or no earlier deployment recorded versions",
    since="0.7.0",
)
def live_upgrade_has_operation(facts: Facts, update: VersionUpdate) -> Iterator[RuleProblem]:
    """Accepts other builds of a version: patches of OpenStack's images, and other digests."""
    yield from _found(facts, update, VersionFault.NO_OPERATION)
