"""The audit for people: a comment on a pull request. The verdict first, then what is wrong, then every rule.

GitHub cuts comments at 65,536 characters. What does not fit is counted, and findings.json has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from audit.result import Audit
from policy.catalogue import RULES
from policy.findings import Finding, Verdict, resource_name
from policy.rule import AnyRule
from policy.wording import join_names, pluralize

MOST = 60_000
SHOWN = 50
"""Findings in a table."""
LONGEST = 400
"""Characters of a cell: reasons are as long as their authors like."""

_SIGNS = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "**fail**",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.NOT_EVALUATED: "**not evaluated**",
    Verdict.WAIVED: "waived",
}


def write(audit: Audit) -> str:
    """The whole comment."""
    text = "\n".join([*_head(audit), *_violations(audit), *_waived(audit), *_rules(audit)])
    for rule in RULES:
        section = "\n".join(_section(audit, rule))
        if len(text) + len(section) > MOST:
            return f"{text}\n\nDetails of the other rules are in findings.json.\n"
        text = f"{text}\n{section}"
    return text + "\n"


def _head(audit: Audit) -> Iterator[str]:
    stopping = [finding for finding in audit.violations if audit.stops(finding)]
    advisory = len(audit.violations) - len(stopping)
    yield f"## Audit of `{audit.stack}`: {'passed' if audit.passed else 'failed'}"
    yield ""
    if audit.problems:
        yield "The audit cannot be relied on:"
        yield ""
        yield from (f"- {_cell(problem)}" for problem in audit.problems)
        yield ""
    said = [f"{pluralize(len(stopping), 'finding')} that must be dealt with"] if stopping else []
    said += [f"{pluralize(advisory, 'finding')} to know about"] if advisory else []
    said += [f"{pluralize(len(audit.waived), 'failure')} waived"] if audit.waived else []
    yield f"{'; '.join(said) or 'No rule is broken'}. {pluralize(len(RULES), 'rule')} in all."
    yield ""
    against = f"the reference architecture {audit.architecture}" if audit.architecture else "no architecture"
    when = f", preview of {datetime.fromtimestamp(audit.time, UTC):%Y-%m-%d %H:%M} UTC" if audit.time else ""
    yield f"Profile `{audit.profile}`, judged by {against}, policy pack {audit.pack or 'unknown'}{when}."


def _violations(audit: Audit) -> Iterator[str]:
    if not audit.violations:
        return
    yield ""
    yield "| severity | rule | resource | finding |"
    yield "| --- | --- | --- | --- |"
    for finding in audit.violations[:SHOWN]:
        where, said = resource_name(finding.resource), finding.wording
        yield f"| {finding.severity}{_level(audit, finding)} | {finding.rule} | {_cell(where)} | {_cell(said)} |"
    if len(audit.violations) > SHOWN:
        yield ""
        yield f"{len(audit.violations) - SHOWN} more are in findings.json."


def _waived(audit: Audit) -> Iterator[str]:
    if not audit.waived:
        return
    yield ""
    yield f"<details><summary>{pluralize(len(audit.waived), 'waived failure')}</summary>"
    yield ""
    yield "| rule | resource | finding | reason | owner | until |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for finding in audit.waived[:SHOWN]:
        waiver = finding.waiver
        by = (waiver.reason, waiver.owner, str(waiver.expires)) if waiver else ("", "", "")
        cells = (finding.rule, resource_name(finding.resource), finding.message, *by)
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
    if len(audit.waived) > SHOWN:
        yield ""
        yield f"{len(audit.waived) - SHOWN} more are in findings.json."
    yield ""
    yield "</details>"


def _level(audit: Audit, finding: Finding) -> str:
    return "" if audit.stops(finding) else " (advisory)"


def _rules(audit: Audit) -> Iterator[str]:
    yield ""
    yield "<details><summary>All rules and their sources</summary>"
    yield ""
    yield "| rule | verdict | judged | source |"
    yield "| --- | --- | --- | --- |"
    for rule in RULES:
        judged = [finding for finding in audit.of(rule) if finding.verdict is not Verdict.NOT_APPLICABLE]
        yield f"| {rule.id}: {rule.title} | {_SIGNS[audit.verdict_of(rule)]} | {len(judged)} | {rule.source} |"
    yield ""
    yield "</details>"


def _section(audit: Audit, rule: AnyRule) -> Iterator[str]:
    findings = audit.of(rule)
    yield ""
    yield f"<details><summary>{rule.id}: {_SIGNS[audit.verdict_of(rule)].strip('*')}</summary>"
    yield ""
    yield _cell(rule.rationale)
    yield ""
    yield from (f"- {source}: {_cell(source.says)}" for source in rule.sources)
    violations = [finding for finding in findings if finding.verdict.is_violation]
    if violations:
        yield ""
        yield f"Remediation: {_cell(rule.remediation)}"
    yield ""
    yield from _judged(findings)
    yield ""
    yield "</details>"


def _judged(findings: Sequence[Finding]) -> Iterator[str]:
    passed = {resource_name(finding.resource) for finding in findings if finding.verdict is Verdict.PASS}
    if passed:
        yield f"Passed: {_cell(join_names(passed, most=40))}"
    for finding in findings:
        if finding.verdict is Verdict.NOT_APPLICABLE:
            yield f"Not applicable: {_cell(finding.message)}"


def _cell(text: str) -> str:
    """Text that neither ends a table's cell nor is taken for markup, nor fills the comment by itself."""
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    plain = short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    return " ".join(plain.split())
