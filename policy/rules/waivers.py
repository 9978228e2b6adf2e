"""Waivers: known rule, limits, approval, valid date, current failure. These rules cannot be waived themselves.

An expired or unused waiver does not block an update. A failure that is no longer waived does, if its rule is mandatory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formats.waiver_limits import LEAST_LITERAL, LONGEST_TERM
from policy.facts.stack import Facts
from policy.facts.stack_waivers import KEY
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from text.suggestion import did_you_mean

if TYPE_CHECKING:
    from formats.waiver import Waiver

_NONE = "the stack file has no waiver"
_PROJECT = RuleSource("project", "Waivers", 1)
_LIMITS = RuleSource("project", "Waivers", 2)
_SECOND = RuleSource("project", "Waivers", 3)
_WHY = RuleSource("004", "5.5.9", 7)


@dataclass(frozen=True)
class WaiverSubject:
    """A waiver with its position in the stack file. Findings about a waiver are reported on the stack's resource."""

    number: int
    waiver: Waiver
    resource: Resource

    @property
    def title(self) -> str:
        return f"{KEY}[{self.number}] ({self.waiver.rule}, {self.waiver.resource})"


def _written(facts: Facts) -> Iterator[WaiverSubject]:
    stack = Resource("pulumi:pulumi:Stack", facts.stack_urn, "stack", dict)
    for number, waiver in enumerate(facts.waivers.entries):
        yield WaiverSubject(number, waiver, stack)


def _names_rule(facts: Facts, written: WaiverSubject) -> bool:
    return facts.waivers.names_rule(written.waiver)


@rule(
    id="waiver-names-rule",
    title="Every waiver names a rule that can be waived",
    severity=Severity.MEDIUM,
    rationale="A waiver for an unknown rule has no effect, although its author expects one. The rules about waivers "
    "cannot be waived.",
    sources=(_WHY, _PROJECT),
    remediation="Use a rule id from docs/rules.md, or remove the waiver from quorate:waivers.",
    subjects=_written,
    not_applicable_reason=_NONE,
    waivable=False,
)
def waiver_names_rule(facts: Facts, written: WaiverSubject) -> Iterator[RuleProblem]:
    """Reports a waiver whose rule is unknown or cannot be waived, and suggests the id with the closest spelling."""
    if not _names_rule(facts, written):
        meant = did_you_mean(written.waiver.rule, facts.waivers.rules)
        yield RuleProblem(f"no waivable rule '{written.waiver.rule}'", f"a rule id{meant}")


@rule(
    id="waiver-within-limits",
    title="Waivers name their resources, end within 180 days, and are not approved by their owner",
    severity=Severity.HIGH,
    rationale="A waiver that matches every resource, or that never ends, would switch its rule off, and owners must "
    "not approve their own waivers. A waiver beyond these limits has no effect.",
    sources=(_LIMITS,),
    remediation="Write the resource's name or a narrower pattern, and a date within 180 days. If approvedBy is set, "
    "name a person other than the owner.",
    subjects=_written,
    not_applicable_reason=_NONE,
    parameters={"days": LONGEST_TERM, "consecutive letters or digits in a pattern": LEAST_LITERAL},
    waivable=False,
    since="0.3.0",
)
def waiver_within_limits(facts: Facts, written: WaiverSubject) -> Iterator[RuleProblem]:
    """Checks resource pattern, expiry date and approver with the same limits as `quorate check`."""
    for refusal in facts.waivers.refusals(written.waiver):
        yield RuleProblem(f"{refusal.key}: {refusal.actual}", refusal.expected)


@rule(
    id="waiver-is-approved",
    title="A second person approves each waiver of a critical rule",
    severity=Severity.HIGH,
    rationale="The failure of a critical rule can cost a quorum its majority or its data, so one person alone must not "
    "accept it. A waiver of a critical rule without a second person's approval has no effect.",
    sources=(_SECOND,),
    remediation="Have a second person review the failure, and write their name in the waiver's approvedBy.",
    subjects=_written,
    applies=lambda facts, written: facts.waivers.needs_approval(written.waiver),
    not_applicable_reason="no waiver is for a critical rule",
    waivable=False,
    since="0.3.0",
)
def waiver_is_approved(_facts: Facts, written: WaiverSubject) -> Iterator[RuleProblem]:
    """Requires an entry in approvedBy. The rule waiver-within-limits reports an approver who is also the owner."""
    if not written.waiver.approved_by:
        yield RuleProblem(f"owner {written.waiver.owner} alone", "approvedBy with a second person")


@rule(
    id="waiver-not-expired",
    title="Waivers are within their expiry date",
    severity=Severity.MEDIUM,
    rationale="The waiver accepted a failure until a date that has passed. The failure counts again.",
    sources=(_WHY, _PROJECT),
    remediation="Fix the failure and remove the waiver, or have its owner set a new date.",
    subjects=_written,
    applies=_names_rule,
    not_applicable_reason=_NONE,
    enforcement=ADVISORY,
    waivable=False,
)
def waiver_not_expired(facts: Facts, written: WaiverSubject) -> Iterator[RuleProblem]:
    """Reports waivers after their last day, in UTC."""
    if since := facts.waivers.expired_since(written.waiver):
        yield RuleProblem(
            f"expired on {written.waiver.expires} (owner: {written.waiver.owner}); a failure counts again since "
            f"{since}",
            f"{facts.waivers.on} or later",
        )


@rule(
    id="waiver-is-used",
    title="Every waiver matches a current failure",
    severity=Severity.LOW,
    rationale="A waiver that matches no failure would accept a later failure of its rule on a matching resource "
    "without a review.",
    sources=(_WHY, _PROJECT),
    remediation="Remove the waiver, or correct its resource pattern. If several waivers match a failure, the first "
    "one counts.",
    subjects=_written,
    applies=lambda facts, written: not facts.waivers.why_void(written.waiver),
    not_applicable_reason="the stack file has no effective waiver",
    enforcement=ADVISORY,
    waivable=False,
)
def waiver_is_used(facts: Facts, written: WaiverSubject) -> Iterator[RuleProblem]:
    """Reports waivers that apply to no failure.

    Raises LookupError, so that the verdict is "not evaluated", if the waived rule was not evaluated on all resources.
    """
    used = facts.waivers.is_used(written.number, facts.findings.get(written.waiver.rule, ()))
    if used is None:
        raise LookupError(f"the rule {written.waiver.rule} was not evaluated on all of its resources")
    if not used:
        waiver = written.waiver
        yield RuleProblem(f"accepts no failure of {waiver.rule} on {waiver.resource}", "a failure to waive")
