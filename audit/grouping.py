"""Groups findings with the same cause, so that a view shows the cause once, with all affected resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policy.findings import Finding, Verdict, resource_name
from policy.rule import SUBJECTS_UNKNOWN
from policy.wording import join_names

MOST = 12
"""Maximum number of resources that a group lists; findings.json has all of them."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one rule that differ only in their resource, or findings not evaluated for one common reason."""

    findings: tuple[Finding, ...]
    """The findings of the group, at least one."""

    @property
    def first(self) -> Finding:
        """The first finding of the group.

        The others have another resource and, if not evaluated, maybe another rule.
        """
        return self.findings[0]

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules of the findings. Only a group of findings that were not evaluated can have several rules."""
        return tuple(dict.fromkeys(each.rule for each in self.findings))

    @property
    def rule(self) -> str:
        """Ids of the rules as a text, such as "etcd-size, galera-size"."""
        return join_names(self.rules, most=MOST)

    @property
    def count(self) -> int:
        """Number of affected resources."""
        return len({each.resource for each in self.findings})

    @property
    def resources(self) -> str:
        """Names of the affected resources as a text, at most twelve of them."""
        return join_names(dict.fromkeys(resource_name(each.resource) for each in self.findings), most=MOST)

    @property
    def message(self) -> str:
        """The message of the first finding; if the group has several findings, without the title of a resource."""
        return self.first.message if len(self.findings) == 1 else _cause(self.first)


def grouped(findings: Iterable[Finding]) -> list[FindingGroup]:
    """Groups findings with the same rule, verdict, waiver and text, in the order of their first findings.

    Findings that were not evaluated for the same reason, such as an unknown value, form one group for all rules.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        rule = "" if finding.verdict is Verdict.NOT_EVALUATED else finding.rule
        key = (rule, finding.verdict, finding.enforcement, finding.waiver, _cause(finding))
        groups.setdefault(key, []).append(finding)
    return [FindingGroup(tuple(group)) for group in groups.values()]


def _cause(finding: Finding) -> str:
    return without_title(finding).removeprefix(SUBJECTS_UNKNOWN)


def without_title(finding: Finding) -> str:
    """Returns a finding's message without the title of its resource at the start, such as "StatefulSet rabbitmq: "."""
    title, colon, text = finding.message.partition(": ")
    words = title.split()
    named = bool(words) and words[-1] in resource_name(finding.resource)
    return text if colon and named else finding.message
