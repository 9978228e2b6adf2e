"""Groups findings of one cause, so that a view shows the cause once, with all resources that it affects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policy.findings import Finding, Verdict, resource_name
from policy.rule import SUBJECTS_UNKNOWN
from policy.wording import join_names

MOST = 12
"""Resources that a group names; findings.json has all of them."""


@dataclass(frozen=True)
class Group:
    """Findings of one rule that differ only in their resource, or all that one cause keeps from being evaluated."""

    findings: tuple[Finding, ...]
    """At least one."""

    @property
    def first(self) -> Finding:
        """A finding that stands for all of them in everything but its resource and its message."""
        return self.findings[0]

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules: several only if they are not evaluated."""
        return tuple(dict.fromkeys(each.rule for each in self.findings))

    @property
    def rule(self) -> str:
        """The rules, in words."""
        return join_names(self.rules, most=MOST)

    @property
    def count(self) -> int:
        """How many resources it affects."""
        return len({each.resource for each in self.findings})

    @property
    def resources(self) -> str:
        """The names of the resources, in words."""
        return join_names(dict.fromkeys(resource_name(each.resource) for each in self.findings), most=MOST)

    @property
    def message(self) -> str:
        """The finding's message; without the resource's title if the group has several."""
        return self.first.message if len(self.findings) == 1 else _cause(self.first)


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Findings of the same rule, verdict, waiver and text as one group, in the order of their first findings.

    What is not evaluated for the same reason is one group whatever the rule: an unknown value, a stack without nodes.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        rule = "" if finding.verdict is Verdict.NOT_EVALUATED else finding.rule
        key = (rule, finding.verdict, finding.enforcement, finding.waiver, _cause(finding))
        groups.setdefault(key, []).append(finding)
    return [Group(tuple(group)) for group in groups.values()]


def _cause(finding: Finding) -> str:
    return without_title(finding).removeprefix(SUBJECTS_UNKNOWN)


def without_title(finding: Finding) -> str:
    """The message without `StatefulSet rabbitmq: ` at its start, if that is the title of the finding's resource."""
    title, colon, text = finding.message.partition(": ")
    words = title.split()
    named = bool(words) and words[-1] in resource_name(finding.resource)
    return text if colon and named else finding.message
