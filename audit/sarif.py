"""Writes the audit as SARIF 2.1.0, for GitHub's code scanning.

Each finding that failed, was waived or was not evaluated is a SARIF result. The fingerprint of a result is made of rule
and resource, without the message, so that a changed number in the message does not create a new alert.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from audit.positions import StackFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.findings import Finding, Severity, Verdict
from policy.rule import AnyRule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVEL = {Severity.CRITICAL: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note"}
_SCORE = {Severity.CRITICAL: "9.5", Severity.HIGH: "8.0", Severity.MEDIUM: "5.5", Severity.LOW: "2.0"}
"""For each severity, the middle of the range of scores that GitHub's code scanning shows as this severity."""


def write(audit: Audit, file: StackFile, pages: str = "") -> dict[str, Any]:
    """Returns the SARIF log. `pages`: the URL of the repository's files, with a slash at the end, or empty."""
    run = {
        "tool": {"driver": _driver(audit, pages)},
        "automationDetails": {"id": f"quorate/{audit.stack}/"},
        "invocations": [_invocation(audit)],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(audit, file)),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(audit: Audit, pages: str) -> dict[str, Any]:
    version = {"version": audit.pack} if audit.pack else {}
    return {"name": "quorate", **version, "rules": [_rule(rule, pages) for rule in RULES]}


def _rule(rule: AnyRule, pages: str) -> dict[str, Any]:
    sources = "\n".join(f"- {source}: {source.quotation}" for source in rule.sources)
    help_text = f"{rule.rationale}\n\nRemediation: {rule.remediation}\n\nSources:\n{sources}"
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": help_text, "markdown": help_text.replace("Remediation:", "**Remediation.**")},
        **({"helpUri": f"{pages}docs/rules.md#{rule.id}"} if pages else {}),
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {
            "security-severity": _SCORE[rule.severity],
            "precision": "very-high",
            "tags": ["quorate", f"since-{rule.since}"],
        },
    }


def _invocation(audit: Audit) -> dict[str, Any]:
    notes = [{"level": "error", "message": {"text": problem}} for problem in audit.problems]
    return {
        "executionSuccessful": not audit.problems,
        **({"toolExecutionNotifications": notes} if notes else {}),
    }


def _results(audit: Audit, file: StackFile) -> Iterator[dict[str, Any]]:
    numbers = {rule.id: number for number, rule in enumerate(RULES)}
    seen: Counter[str] = Counter()
    for finding in audit.findings:
        if not finding.verdict.reported:
            continue
        mark = hashlib.sha256(f"{finding.rule}\n{finding.resource}".encode()).hexdigest()
        seen[mark] += 1
        yield {
            "ruleId": finding.rule,
            "ruleIndex": numbers[finding.rule],
            "level": _LEVEL[finding.severity],
            "message": {"text": f"{finding.wording}. {finding.remediation}"},
            "locations": [_location(audit, finding, file)],
            # A rule may report several problems of one resource.
            "partialFingerprints": {"quorateRuleAndResource/v1": f"{mark}:{seen[mark]}"},
            **({"suppressions": [_suppression(finding)]} if finding.verdict is Verdict.WAIVED else {}),
            "properties": {"verdict": finding.verdict, "enforcement": finding.enforcement},
        }


def _location(audit: Audit, finding: Finding, file: StackFile) -> dict[str, Any]:
    key = file.key_of(finding, audit.placement)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": file.path, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": file.line(key) or 1},
        },
        "logicalLocations": [{"fullyQualifiedName": finding.resource, "kind": "resource"}],
    }


def _suppression(finding: Finding) -> dict[str, Any]:
    """Returns a suppression for a waived finding. It has no status, which SARIF defines as accepted."""
    return {"kind": "external", "justification": str(finding.waiver or finding.message)}
