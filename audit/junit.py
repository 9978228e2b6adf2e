"""Writes the audit as JUnit XML: a test suite for each rule, with a test case for each resource that it evaluated."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from audit.result import Audit
from policy.catalogue import RULES
from policy.findings import Finding, Verdict
from policy.rule import AnyRule
from text.quoting import printable

_MARKS = {
    Verdict.FAIL: "failure",
    Verdict.NOT_EVALUATED: "error",
    Verdict.WAIVED: "skipped",
    Verdict.NOT_APPLICABLE: "skipped",
}


def write(audit: Audit) -> str:
    """Returns the JUnit XML of an audit. An unreliable audit has an additional suite with the reasons."""
    root = Xml.Element("testsuites", name=f"quorate audit of {printable(audit.stack)}")
    if audit.problems:
        suite = Xml.SubElement(root, "testsuite", name="the audit itself")
        for number, problem in enumerate(audit.problems, start=1):
            case = Xml.SubElement(suite, "testcase", classname="audit", name=f"is reliable ({number})")
            Xml.SubElement(case, "error", message=printable(problem), type="problem")
        _count(suite, audit)
    for rule in RULES:
        _suite(root, audit, rule)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: Xml.Element, audit: Audit, rule: AnyRule) -> None:
    suite = Xml.SubElement(root, "testsuite", name=rule.id)
    for finding in audit.of(rule):
        case = Xml.SubElement(suite, "testcase", classname=rule.id, name=printable(finding.resource) or "the stack")
        if finding.verdict in _MARKS:
            _mark(case, finding)
    _count(suite, audit)


def _mark(case: Xml.Element, finding: Finding) -> None:
    mark = Xml.SubElement(case, _MARKS[finding.verdict], message=printable(finding.wording))
    if finding.verdict.is_violation:
        mark.set("type", str(finding.severity))
        mark.text = printable(f"{finding.wording}\nFix: {finding.remediation}\nSource: {finding.source}")


def _count(suite: Xml.Element, audit: Audit) -> None:
    marks = Counter(mark.tag for case in suite for mark in case)
    suite.set("tests", str(len(suite)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(marks[tag]))
    if audit.time:
        suite.set("timestamp", f"{datetime.fromtimestamp(audit.time, UTC):%Y-%m-%dT%H:%M:%S}")
