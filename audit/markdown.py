"""Writes the audit as Markdown, for a comment on a pull request: verdict, findings, waived failures, every rule.

GitHub limits comments to 65,536 characters. Findings that do not fit are counted; findings.json has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from audit import controls, losses
from audit.grouping import MOST as SHOWN
from audit.grouping import Cause, FindingGroup, grouped
from audit.losses import Loss
from audit.positions import StackFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.facts.placement.placement_map import Placed
from policy.findings import Finding, Verdict, resource_name
from policy.frameworks import of_rule
from policy.rule import AnyRule
from policy.wording import join_names
from text.plural import pluralize
from text.quoting import COMMENT, bounded, code, in_markdown

MOST = 60_000
_SIGNS = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "**fail**",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.NOT_EVALUATED: "**not evaluated**",
    Verdict.WAIVED: "waived",
}


def write(audit: Audit, file: StackFile) -> str:
    """Returns the audit as Markdown, cut to the length of a GitHub comment. `file`: the stack file, for its lines."""
    text = "\n".join(
        [
            *_head(audit),
            *_violations(audit, file),
            *_waived(audit, file),
            *_losses(audit),
            *_controls(audit),
            *_rules(audit),
        ]
    )
    for rule in audit.rules:
        section = "\n".join(_section(audit, rule))
        if len(text) + len(section) > MOST:
            text = f"{text}\n\nDetails of the other rules are in findings.json."
            break
        text = f"{text}\n{section}"
    return bounded(f"{text}\n", COMMENT, "findings.json has all of it.")


def _head(audit: Audit) -> Iterator[str]:
    stopping = [finding for finding in audit.violations if audit.stops(finding)]
    advisory = len(audit.violations) - len(stopping)
    yield f"## Audit of {code(audit.stack)}: {'passed' if audit.passed else 'failed'}"
    yield ""
    if audit.problems:
        yield "The audit is unreliable:"
        yield ""
        yield from (f"- {in_markdown(problem)}" for problem in audit.problems)
        yield ""
    counts = [f"{pluralize(len(stopping), 'finding')} of mandatory rules"] if stopping else []
    counts += [pluralize(advisory, "advisory finding")] if advisory else []
    counts += [pluralize(len(audit.waived), "waived failure")] if audit.waived else []
    yield f"{'; '.join(counts) or 'No rule fails'}. {pluralize(len(RULES), 'rule')} in all."
    yield ""
    size = in_markdown(audit.architecture)
    against = f"the reference architecture {size}" if size else _WITHOUT
    when = f", preview of {datetime.fromtimestamp(audit.time, UTC):%Y-%m-%d %H:%M} UTC" if audit.time else ""
    profile, pack = code(audit.profile), code(audit.pack or "unknown")
    yield f"Profile {profile}, evaluated against {against}, policy pack {pack}{when}."
    yield from _coverage(audit)


_WITHOUT = (
    f"no reference architecture ({sum(each.needs_architecture for each in RULES)} rules compare with one and do not "
    "apply)"
)


def _coverage(audit: Audit) -> Iterator[str]:
    if not audit.coverage:
        return
    sums = audit.resources
    yield ""
    yield (
        f"Resources: {sums.evaluated} evaluated by at least one rule, {sums.read} read by rules on others, "
        f"{sums.harmless} known to be harmless, {sums.unknown} of unknown types."
    )
    unknown = [f"{type_} ({counts.unknown})" for type_, counts in audit.coverage.items() if counts.unknown]
    if unknown:
        yield ""
        yield f"No rule reads these types: {in_markdown(join_names(unknown, most=20))}."


def _violations(audit: Audit, file: StackFile) -> Iterator[str]:
    if audit.violations:
        yield ""
        yield "### Findings"
        found = file.causes(audit.violations, audit.placement)
        yield from _list(audit, file, found, MOST // 2)


def _waived(audit: Audit, file: StackFile) -> Iterator[str]:
    if audit.waived:
        yield ""
        yield "### Waived failures"
        yield from _list(audit, file, [Cause((group,)) for group in grouped(audit.waived)], MOST // 5)


def _list(audit: Audit, file: StackFile, found: Sequence[Cause], most: int) -> Iterator[str]:
    """Yields a list entry for each cause of findings, at most `most` characters.

    Counts the findings that do not fit.
    """
    yield ""
    for number, cause in enumerate(found):
        entry = "\n".join(_of_place(audit, file, cause) if cause.key else _of_rule(audit, cause))
        most -= len(entry)
        if most < 0:
            yield ""
            yield f"{sum(len(each.findings) for each in found[number:])} more are in findings.json."
            return
        yield entry


def _of_place(audit: Audit, file: StackFile, cause: Cause) -> Iterator[str]:
    """Yields one entry for all rules that fail at one place of the stack file."""
    place = f"{in_markdown(file.path)}, line {file.line(cause.key)} ({code(cause.key)})"
    yield f"- **{cause.severity}** {place}: {cause.heading}"
    for part in cause.by_rule:
        yield from (f"  {line}" for line in _of_rule(audit, part))


def _of_rule(audit: Audit, cause: Cause) -> Iterator[str]:
    """Yields one entry for a rule, with its fix and source once."""
    first, *others = cause.groups
    entry = list(_entry(audit, first))
    if not others:
        yield from entry
        return
    yield from entry[: 2 if first.count > 1 else 1]
    for group in others[: SHOWN - 1]:
        named = f" (resources: {in_markdown(group.resources)})" if group.count > 1 else ""
        yield f"  - {in_markdown(group.message)}{named}"
    if len(others) >= SHOWN:
        yield f"  - {len(others) - SHOWN + 1} more of this rule are in findings.json"
    yield from entry[2 if first.count > 1 else 1 :]


def _entry(audit: Audit, group: FindingGroup) -> Iterator[str]:
    finding, several = group.first, group.count > 1
    verdict = "" if finding.verdict is not Verdict.NOT_EVALUATED else ", not evaluated"
    level = "" if audit.stops(finding) or finding.verdict is Verdict.WAIVED else ", advisory"
    resources = pluralize(group.count, "resource") if several else in_markdown(resource_name(finding.resource))
    yield f"- **{finding.severity}{level}{verdict}** {group.rule} on {resources}: {in_markdown(group.message)}"
    if several:
        yield f"  - Resources: {in_markdown(group.resources)}"
    if finding.waiver:
        waiver = finding.waiver
        yield f"  - Waived until {waiver.expires} by {in_markdown(waiver.owner)}: {in_markdown(waiver.reason)}"
    if len(group.rules) == 1:
        yield f"  - Fix: {in_markdown(finding.remediation)}"
        yield f"  - Source: {_cell(finding.source)}"


def _losses(audit: Audit) -> Iterator[str]:
    """Yields a line for each group of servers whose failure takes members of quorums or the last instance."""
    if audit.placement is None:
        return
    yield ""
    yield "### Loss of each server"
    yield ""
    harmless = 0
    room = MOST // 6
    for lost, servers in losses.alike(losses.of_servers(audit.placement)).items():
        placed = audit.placement.placed
        worst_first = sorted(lost, key=lambda each: (not placed[each.placed].quorum, each.stands))
        told = [words for each in worst_first if (words := _lost(placed[each.placed], each))]
        if not told:
            harmless += len(servers)
            continue
        line = f"- {in_markdown(join_names(servers, most=8))}: {in_markdown('; '.join(told))}"
        room -= len(line)
        if room < 0:
            yield "- … more in findings.json"
            break
        yield line
    if harmless:
        yield f"- {pluralize(harmless, 'other server')}: no member of a quorum and no last instance is lost."


def _lost(placed: Placed, loss: Loss) -> str:
    """Returns what a failure takes of a quorum, or of a service without another instance; "" for other services."""
    name = placed.group or placed.name
    if placed.quorum:
        state = "majority kept" if loss.stands else f"majority lost ({loss.needs} needed)"
        return f"{name} keeps {loss.left} of {loss.count}, {state}"
    if loss.stands:
        return ""
    return f"{name} down until {'it starts elsewhere' if loss.elsewhere else 'the server is back'}"


def _controls(audit: Audit) -> Iterator[str]:
    yield ""
    yield "<details><summary>Controls of frameworks</summary>"
    yield ""
    yield "| control | requires | verdict | rules | not judged |"
    yield "| --- | --- | --- | --- | --- |"
    for each in controls.judged(audit):
        control = each.control
        cells = [control.control, control.says, each.words, ", ".join(control.rules) or "none", control.not_judged]
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""
    yield "</details>"


def _rules(audit: Audit) -> Iterator[str]:
    yield ""
    yield "<details><summary>All rules and their sources</summary>"
    yield ""
    yield "| rule | verdict | resources | source | frameworks |"
    yield "| --- | --- | --- | --- | --- |"
    for rule in audit.rules:
        judged = [finding for finding in audit.of(rule) if finding.verdict is not Verdict.NOT_APPLICABLE]
        sign, framework = _SIGNS[audit.verdict_of(rule)], ", ".join(of_rule(rule.id))
        yield f"| {rule.id}: {rule.title} | {sign} | {len(judged)} | {rule.source} | {framework} |"
    yield ""
    yield "</details>"


def _section(audit: Audit, rule: AnyRule) -> Iterator[str]:
    findings = audit.of(rule)
    yield ""
    yield f"<details><summary>{rule.id}: {_SIGNS[audit.verdict_of(rule)].strip('*')}</summary>"
    yield ""
    yield _cell(rule.rationale)
    yield ""
    yield from (f"- {source}: {_cell(source.quotation)}" for source in rule.sources)
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
        yield f"Passed: {in_markdown(join_names(passed, most=40))}"
    for finding in findings:
        if finding.verdict is Verdict.NOT_APPLICABLE:
            yield f"Not applicable: {in_markdown(finding.message)}"


def _cell(text: str) -> str:
    """Returns a rule's text in one line for a table cell, with HTML and `|` escaped. Code spans are unchanged."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    return " ".join(plain.split())
