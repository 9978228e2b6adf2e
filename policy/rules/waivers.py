"""Waivers that say what they mean: a rule that exists, a day that has not passed, a failure that is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.resource import Resource
from policy.facts.stack import LAB, PRODUCTION, Facts
from policy.facts.stack_waivers import KEY
from policy.findings import Enforcement, Severity, Waiver
from policy.rule import Problem, Source, rule
from suggestion import did_you_mean

ADVISORY = {PRODUCTION: Enforcement.ADVISORY, LAB: Enforcement.ADVISORY}
"""What is left of a waiver stops nobody by itself: the failure that an expired one was for does."""

_NONE = "the stack file has no waiver"
_PROJECT = Source("project", "Waivers", "a waiver names a rule, a resource, a reason, an owner and an expiry date")
_WHY = Source("004", "5.5.9", "based on gates configuration they may or may not block the patch for promotion")


@dataclass(frozen=True)
class Written:
    """A waiver where it stands in the stack file. The stack as a whole answers for it."""

    number: int
    waiver: Waiver
    resource: Resource

    @property
    def title(self) -> str:
        return f"{KEY}[{self.number}] ({self.waiver.rule}, {self.waiver.resource})"


def _written(facts: Facts) -> Iterator[Written]:
    stack = Resource("pulumi:pulumi:Stack", facts.stack_urn, "stack", dict)
    for number, waiver in enumerate(facts.waivers.given):
        yield Written(number, waiver, stack)


def _names_rule(facts: Facts, written: Written) -> bool:
    return written.waiver.rule in facts.waivers.rules


@rule(
    id="waiver-names-rule",
    title="A waiver names a rule of the pack",
    severity=Severity.MEDIUM,
    rationale="A waiver of a rule that does not exist waives nothing, and its author believes that it does. The rules "
    "about waivers cannot be waived themselves.",
    sources=(_WHY, _PROJECT),
    remediation="Write the rule's id as docs/rules.md has it, or take the waiver out of quorate:waivers.",
    subjects=_written,
    not_applicable_reason=_NONE,
)
def waiver_names_rule(facts: Facts, written: Written) -> Iterator[Problem]:
    """Spelling is the usual reason."""
    if not _names_rule(facts, written):
        meant = did_you_mean(written.waiver.rule, facts.waivers.rules)
        yield Problem(f"there is no rule '{written.waiver.rule}' to waive", f"the id of a rule{meant}")


@rule(
    id="waiver-not-expired",
    title="A waiver has not expired",
    severity=Severity.MEDIUM,
    rationale="The failure was accepted until a day that has passed. It counts as a failure again; the waiver that is "
    "left only looks as if somebody still answered for it.",
    sources=(_WHY, _PROJECT),
    remediation="Mend what the waiver was for and take it out of quorate:waivers, or have its owner set a new day.",
    subjects=_written,
    applies=_names_rule,
    not_applicable_reason=_NONE,
    enforcement=ADVISORY,
)
def waiver_not_expired(facts: Facts, written: Written) -> Iterator[Problem]:
    """It holds through its last day, in UTC."""
    if not facts.waivers.holds(written.waiver):
        seen = f"it expired on {written.waiver.expires}; its owner is {written.waiver.owner}"
        yield Problem(seen, f"a day from {facts.waivers.on} on")


@rule(
    id="waiver-is-used",
    title="A waiver waives a failure that is there",
    severity=Severity.LOW,
    rationale="A waiver without its failure lies in wait for the next one, which nobody has accepted.",
    sources=(_WHY, _PROJECT),
    remediation="Take the waiver out of quorate:waivers, or mend its resource pattern.",
    subjects=_written,
    applies=lambda facts, written: _names_rule(facts, written) and facts.waivers.holds(written.waiver),
    not_applicable_reason=_NONE,
    enforcement=ADVISORY,
)
def waiver_is_used(facts: Facts, written: Written) -> Iterator[Problem]:
    """Judged after all other rules. Where its rule could not be evaluated, nobody can say."""
    used = facts.waivers.was_used(written.number)
    if used is None:
        raise LookupError(f"the rule {written.waiver.rule} was not evaluated on all of its resources")
    if not used:
        yield Problem(f"no failure of {written.waiver.rule} on {written.waiver.resource}", "one that it waives")
