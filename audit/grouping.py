"""Groups findings of one cause, so that a view shows the cause once, with all resources that it affects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policy.findings import Finding, resource_name
from policy.wording import join_names

MOST = 12
"""Resources that a group names; findings.json has all of them."""


@dataclass(frozen=True)
class Group:
    """Findings of one rule that differ only in their resource."""

    findings: tuple[Finding, ...]
    """At least one."""

    @property
    def first(self) -> Finding:
        """A finding that stands for all of them in everything but its resource and its message."""
        return self.findings[0]

    @property
    def resources(self) -> str:
        """The names of the resources, in words."""
        return join_names([resource_name(each.resource) for each in self.findings], most=MOST)

    @property
    def message(self) -> str:
        """The finding's message; without the resource's title if the group has several."""
        return self.first.message if len(self.findings) == 1 else without_title(self.first)


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Findings of the same rule, verdict, waiver and text as one group, in the order of their first findings."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = (finding.rule, finding.verdict, finding.enforcement, finding.waiver, without_title(finding))
        groups.setdefault(key, []).append(finding)
    return [Group(tuple(group)) for group in groups.values()]


def without_title(finding: Finding) -> str:
    """The message without `StatefulSet rabbitmq: ` at its start, if that is the title of the finding's resource."""
    title, colon, text = finding.message.partition(": ")
    words = title.split()
    named = bool(words) and words[-1] in resource_name(finding.resource)
    return text if colon and named else finding.message
