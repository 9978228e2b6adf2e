"""Groups findings with the same cause, so that a view shows the cause once, with all affected resources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from policy.findings import Finding, Severity, Verdict, resource_name
from policy.rule import SUBJECTS_UNKNOWN
from policy.wording import join_names
from text.plural import pluralize

MOST = 12
"""Maximum number of resources, or of messages of one rule, that are listed at once; findings.json has all of them."""


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


@dataclass(frozen=True)
class Cause:
    """What a reader sees as one finding: what fails at one place of the stack file, or all failures of one rule."""

    groups: tuple[FindingGroup, ...]
    """At least one."""
    key: str = ""
    """Key of the place in the stack file; "" for one rule, or for findings not evaluated for one reason."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all groups."""
        return tuple(finding for group in self.groups for finding in group.findings)

    @property
    def resources(self) -> int:
        """Number of affected resources."""
        return len({each.resource for each in self.findings})

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules, each once."""
        return tuple(dict.fromkeys(rule for group in self.groups for rule in group.rules))

    @property
    def heading(self) -> str:
        """How many rules fail at the place, such as "2 rules fail"."""
        return f"{pluralize(len(self.rules), 'rule')} {'fails' if len(self.rules) == 1 else 'fail'}"

    @property
    def by_rule(self) -> tuple[Cause, ...]:
        """One cause for each rule that fails at the place."""
        groups: dict[str, list[FindingGroup]] = defaultdict(list)
        for group in self.groups:
            groups[group.rule].append(group)
        return tuple(Cause(tuple(several)) for several in groups.values())

    @property
    def severity(self) -> Severity:
        """The highest severity of the findings."""
        return min((each.severity for each in self.findings), key=lambda each: each.rank)


def causes(findings: Iterable[Finding], key_of: Callable[[Finding], str]) -> list[Cause]:
    """Groups findings by cause, in the order of their first findings.

    `key_of`: returns the key of the entry in the stack file that a finding is about, "" if there is none. An entry at
    which one finding fails is not a cause of its own: the finding is with the others of its rule.
    """
    given = list(findings)
    keys = {id(each): key_of(each) if each.verdict is Verdict.FAIL else "" for each in given}
    failures = Counter(keys.values())
    at_place: dict[str, list[Finding]] = defaultdict(list)
    others: list[Finding] = []
    for each in given:
        key = keys[id(each)]
        (at_place[key] if key and failures[key] > 1 else others).append(each)
    by_rule: dict[object, list[FindingGroup]] = defaultdict(list)
    for group in grouped(others):
        first = group.first
        by_rule[(first.rule, first.enforcement) if first.verdict is Verdict.FAIL else group].append(group)
    found = [Cause(tuple(grouped(several)), key) for key, several in at_place.items()]
    found += [Cause(tuple(groups)) for groups in by_rule.values()]
    order = {id(each): number for number, each in enumerate(given)}
    return sorted(found, key=lambda cause: min(order[id(each)] for each in cause.findings))


def _cause(finding: Finding) -> str:
    return without_title(finding).removeprefix(SUBJECTS_UNKNOWN)


def without_title(finding: Finding) -> str:
    """Returns a finding's message without the title of its resource at the start, such as "StatefulSet rabbitmq: "."""
    title, colon, text = finding.message.partition(": ")
    words = title.split()
    named = bool(words) and words[-1] in resource_name(finding.resource)
    return text if colon and named else finding.message
