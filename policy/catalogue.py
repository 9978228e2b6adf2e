"""Lists the rules of the policy pack, and writes the pages about them (`python -m policy.catalogue`).

docs/rules.md describes every rule, docs/rules-not-made.md every requirement of the sources, docs/frameworks.md the
controls of standards and benchmarks that rules evaluate.

A rule is in the pack if its module of policy/rules is listed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

from policy.facts.stack_configuration import LAB, PRODUCTION
from policy.frameworks import frameworks
from policy.requirements import DOCUMENTS, Norm, parts
from policy.rule import AnyRule, Rule
from policy.rules import (
    admission,
    anti_affinity,
    api,
    backups,
    capacity,
    carriers,
    ceph_copies,
    class_networks,
    closed_world,
    colocation,
    commands,
    computes,
    control_plane,
    database,
    dedication,
    disruption,
    distinct_hosts,
    distributed_routers,
    enforcement,
    etcd,
    failures,
    hardware,
    images,
    instances,
    kubernetes_programs,
    libvirt_domains,
    load_balancing,
    machine_files,
    masters,
    members,
    messaging,
    monitoring,
    network,
    osd_nodes,
    pinning,
    pod_security,
    privileges,
    probes,
    quorum_sizes,
    rollout,
    secrets,
    spread,
    sriov,
    stateful,
    storage,
    syncing,
    updates,
    version_changes,
    virt,
    volume_managers,
    waivers,
)

FAMILIES = (
    instances,
    dedication,
    spread,
    distinct_hosts,
    failures,
    quorum_sizes,
    stateful,
    storage,
    syncing,
    members,
    admission,
    pod_security,
    hardware,
    probes,
    pinning,
    messaging,
    network,
    class_networks,
    database,
    masters,
    etcd,
    machine_files,
    api,
    kubernetes_programs,
    backups,
    control_plane,
    virt,
    volume_managers,
    libvirt_domains,
    load_balancing,
    anti_affinity,
    osd_nodes,
    colocation,
    distributed_routers,
    sriov,
    monitoring,
    capacity,
    ceph_copies,
    disruption,
    rollout,
    updates,
    version_changes,
    carriers,
    commands,
    computes,
    secrets,
    images,
    privileges,
    closed_world,
    enforcement,
    waivers,
)


def _rules_of(family: ModuleType) -> tuple[AnyRule, ...]:
    return tuple(cast("AnyRule", each) for each in vars(family).values() if isinstance(each, Rule))


RULES: tuple[AnyRule, ...] = tuple(each for family in FAMILIES for each in _rules_of(family))
BY_ID = {each.id: each for each in RULES}
WAIVABLE = {each.id: each.severity for each in RULES if each.waivable}
"""Severity of each rule that a waiver may name, by the rule's id."""

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[Path, str]:
    """Returns the pages about the rules as Markdown, by path: the rules, requirements without one, and frameworks."""
    lines = {
        DOCS / "rules.md": _lines(),
        DOCS / "rules-not-made.md": _not_made(),
        DOCS / "frameworks.md": _frameworks(),
    }
    return {path: "\n".join(each) + "\n" for path, each in lines.items()}


def _lines() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/rules; a test keeps it in step. -->"
    yield ""
    yield f"{len(RULES)} rules. A mandatory rule stops an update; an advisory rule warns. The stack's profile decides"
    yield "which applies. A rule that cannot be evaluated (unknown value, error) counts as violated."
    yield ""
    yield "A source is cited by document, section and, in brackets, the number of the sentence in that section. Every"
    yield "subheading, list item and table row without a full stop counts as a sentence; listings do not count. The"
    yield "text is a paraphrase of that one sentence; square brackets contain context from the sentences around it. A"
    yield "*project rule* goes beyond the documents, for the reason given. [rules-not-made.md](rules-not-made.md) lists"
    yield "the requirements without a rule, with the reason."
    yield ""
    yield from _documents()
    yield ""
    yield "| rule | severity | in production | in a lab | requirement |"
    yield "| --- | --- | --- | --- | --- |"
    for each in RULES:
        levels = f"{each.enforced(PRODUCTION)} | {each.enforced(LAB)}"
        yield f"| [{each.id}](#{each.id}) | {each.severity} | {levels} | {each.title} |"
    for family in FAMILIES:
        yield ""
        yield f"## {(family.__doc__ or '').splitlines()[0].rstrip('.')}"
        for each in _rules_of(family):
            yield from _section(each)


def _section(each: AnyRule) -> Iterator[str]:
    yield ""
    yield f"### {each.id}"
    yield ""
    levels = f"{each.enforced(PRODUCTION)} in production, {each.enforced(LAB)} in a lab"
    waivable = "" if each.waivable else " Cannot be waived."
    yield f"**{each.title}.** Severity {each.severity}, {levels}, since {each.since}.{waivable}"
    yield ""
    yield each.rationale
    yield ""
    yield f"*Remediation.* {each.remediation}"
    yield ""
    files = " On existing machines there are no files to evaluate." if each.reads_machine_files else ""
    yield f"*Not applicable when* {each.not_applicable_reason}.{files}"
    if each.parameters:
        yield ""
        yield "*Parameters.* " + "; ".join(f"{key}: {_written(value)}" for key, value in each.parameters.items())
    yield ""
    for source in each.sources:
        yield f"- {source}: {source.quotation}"


def _written(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _not_made() -> Iterator[str]:
    yield "# Requirements of the sources"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/requirements; a test keeps it in step. -->"
    yield ""
    yield 'Each sentence of the source documents with "should", "must", "recommended", "required" or the like is listed'
    yield "once. For each part, this page lists the requirements without a rule, with the reason, then the requirements"
    yield "that [rules](rules.md) of the policy pack evaluate. Each requirement paraphrases one sentence. The date is"
    yield "the day on which a reason was last compared with the program. A test fails if a reason waits for a part that"
    yield "[not-built.md](not-built.md) no longer lists."
    yield ""
    yield from _documents()
    for part in parts():
        yield ""
        yield f"## {part.title}"
        without = [_row(norm, f"{norm.why_not} | {norm.read}") for norm in part.norms if norm.why_not]
        yield from _table("Without a rule", ("reason", "last read"), without)
        with_rules = [_row(norm, _links(norm.rules)) for norm in part.norms if norm.rules]
        yield from _table("With rules", ("rules",), with_rules)


def _documents() -> Iterator[str]:
    yield "| document | title |"
    yield "| --- | --- |"
    yield from (f"| {name} | {title} |" for name, title in DOCUMENTS.items())


def _table(title: str, last: Sequence[str], rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"### {title}"
        yield ""
        yield f"| section | requirement | {' | '.join(last)} |"
        yield f"| --- | --- |{' --- |' * len(last)}"
        yield from rows


def _row(norm: Norm, last: str) -> str:
    numbers = " and ".join(str(each) for each in norm.sentences)
    return f"| {norm.section} ({numbers}) | {norm.says} | {last} |"


def _links(rules: Iterable[str]) -> str:
    return ", ".join(f"[{each}](rules.md#{each})" for each in rules)


def _frameworks() -> Iterator[str]:
    yield "# Standards and benchmarks"
    yield ""
    yield "<!-- Written by `python -m policy.catalogue` from policy/frameworks; a test keeps it in step. -->"
    yield ""
    yield "Controls that [rules](rules.md) of the policy pack evaluate, in whole or in part. The texts are not copied:"
    yield "the place is cited, and the requirement is in Quorate's words. A control passes if its rules pass; the last"
    yield "column says what that does not prove. The audit's page filters rules by framework; findings.json, OSCAL and"
    yield "audit.md have the verdicts of the controls."
    for each in frameworks():
        yield ""
        yield f"## {each.framework}: {each.title}"
        yield ""
        yield f"{each.version}, {each.place}"
        yield ""
        yield "| control | place | requires | rules | not judged |"
        yield "| --- | --- | --- | --- | --- |"
        for control in each.controls:
            rules = _links(control.rules) or "none"
            yield f"| {control.control} | {control.where} | {control.says} | {rules} | {control.not_judged} |"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
