"""The audit as one page that needs nothing else: no network, no other file.

The template escapes every value. Styles and script are files of page/, put into the page and allowed by their hashes;
the map's data are JSON in an element that nothing executes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from audit import chart, numbers
from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.findings import Finding, Verdict, resource_name
from policy.rule import AnyRule
from policy.wording import pluralize

PAGE = Path(__file__).resolve().parent / "page"
SHOWN = 200
"""Passed resources that a rule lists; findings.json has them all."""

WORDS = {
    Verdict.FAIL: ("✗", "failed"),
    Verdict.NOT_EVALUATED: ("?", "not evaluated"),
    Verdict.WAIVED: ("⊘", "waived"),
    Verdict.PASS: ("✓", "passed"),
    Verdict.NOT_APPLICABLE: ("–", "not applicable"),
}
"""A sign and a word for each verdict: colour says nothing that these do not."""


@dataclass(frozen=True)
class RuleView:
    """A rule with what it said."""

    rule: AnyRule
    verdict: Verdict
    others: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    more: int
    """Passed resources that are left out."""


def write(audit: Audit, file: StackFile, plan: PlanFile) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"resource_name": resource_name, "words": WORDS, "counted": pluralize, "Verdict": Verdict}  # pyright: ignore[reportAttributeAccessIssue, reportOperatorIssue, reportUnknownMemberType]
    style, script = _asset("page.css"), _asset("page.js")
    drawn = chart.draw(audit, plan)
    stopping = [finding for finding in audit.violations if audit.stops(finding)]
    return environment.get_template("page.html").render(
        audit=audit,
        file=file,
        when=f"{datetime.fromtimestamp(audit.time, UTC):%Y-%m-%d %H:%M} UTC" if audit.time else "",
        stopping=stopping,
        advisory=[finding for finding in audit.violations if not audit.stops(finding)],
        tally=Counter(audit.verdict_of(rule) for rule in RULES),
        checks=sum(finding.verdict is not Verdict.NOT_APPLICABLE for finding in audit.findings),
        rules=[_view(audit, rule) for rule in RULES],
        chart=drawn,
        quorums=chart.QUORUMS,
        numbers=list(numbers.numbers(audit, file, plan)),
        table_rows=numbers.table_rows(plan),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=_embedded(drawn.data if drawn else None),
    )


def _view(audit: Audit, rule: AnyRule) -> RuleView:
    findings = audit.of(rule)
    others = [finding for finding in findings if finding.verdict is not Verdict.PASS]
    passed = [finding for finding in findings if finding.verdict is Verdict.PASS]
    return RuleView(rule, audit.verdict_of(rule), tuple(others), tuple(passed[:SHOWN]), max(0, len(passed) - SHOWN))


def _asset(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _embedded(data: dict[str, Any] | None) -> Markup:
    """JSON that no HTML parser takes for anything else: `<` could end the element, `&` and `>` go with it."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - every character that means something in HTML is gone
