"""Writes the audit as one self-contained HTML page.

The template escapes every value. The page contains the style and the script from audit/page/; its content security
policy allows only these, by their hashes. The data of the placement map are JSON in an element that is not executed.
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

from audit import chart, controls, numbers
from audit.grouping import MOST, Cause, FindingGroup, grouped
from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import Audit
from policy.catalogue import RULES
from policy.findings import Finding, Verdict, resource_name
from policy.frameworks import frameworks, of_rule
from policy.rule import AnyRule
from text.plural import pluralize

PAGE = Path(__file__).resolve().parent / "page"
SHOWN = 200
"""Maximum number of passed resources that the page lists for a rule; findings.json has all of them."""

WORDS = {
    Verdict.FAIL: ("✗", "failed"),
    Verdict.NOT_EVALUATED: ("?", "not evaluated"),
    Verdict.WAIVED: ("⊘", "waived"),
    Verdict.PASS: ("✓", "passed"),
    Verdict.NOT_APPLICABLE: ("–", "not applicable"),
}
"""A symbol and a word for each verdict, so that the page does not distinguish verdicts by colour alone."""


@dataclass(frozen=True)
class RuleView:
    """A rule with its findings, as the page shows it."""

    rule: AnyRule
    verdict: Verdict
    others: tuple[FindingGroup, ...]
    """The rule's findings with other verdicts than "pass", in groups."""
    passed: tuple[Finding, ...]
    more: int
    """Number of passed resources that the page omits."""


def write(audit: Audit, file: StackFile, plan: PlanFile) -> str:
    """Returns the HTML page of an audit. `file`: the stack file, for line numbers. `plan`: may be empty."""
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"resource_name": resource_name, "words": WORDS, "counted": pluralize, "Verdict": Verdict}  # pyright: ignore[reportAttributeAccessIssue, reportOperatorIssue, reportUnknownMemberType]
    style, script = _asset("page.css"), _asset("page.js")
    drawn = chart.draw(audit, plan)
    stopping = [finding for finding in audit.violations if audit.stops(finding)]

    def stops(cause: Cause) -> bool:
        return any(audit.stops(finding) for finding in cause.findings)

    found = file.causes(audit.violations, audit.placement)
    return environment.get_template("page.html").render(
        audit=audit,
        file=file,
        when=f"{datetime.fromtimestamp(audit.time, UTC):%Y-%m-%d %H:%M} UTC" if audit.time else "",
        stops=stops,
        stopping=[cause for cause in found if stops(cause)],
        advisory=[cause for cause in found if not stops(cause)],
        waived=[Cause((group,)) for group in grouped(audit.waived)],
        most=MOST,
        counts=_counts(len(stopping), len(audit.violations) - len(stopping), len(audit.waived)),
        tally=Counter(audit.verdict_of(rule) for rule in RULES),
        checks=sum(finding.verdict is not Verdict.NOT_APPLICABLE for finding in audit.findings),
        rules=[_view(audit, rule) for rule in audit.rules],
        chart=drawn,
        quorums=chart.QUORUMS,
        numbers=list(numbers.numbers(audit, file, plan)),
        table_rows=numbers.table_rows(plan),
        controls=list(controls.judged(audit)),
        frameworks=frameworks(),
        of_rule=of_rule,
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
    return RuleView(
        rule, audit.verdict_of(rule), tuple(grouped(others)), tuple(passed[:SHOWN]), max(0, len(passed) - SHOWN)
    )


def _counts(stopping: int, advisory: int, waived: int) -> str:
    """Returns the numbers of findings in a sentence; "" if all three are zero."""
    parts = [f"{pluralize(stopping, 'finding')} of mandatory rules"] if stopping else []
    parts += [pluralize(advisory, "advisory finding")] if advisory else []
    parts += [pluralize(waived, "waived failure")] if waived else []
    return f"{', '.join(parts)}." if parts else ""


def _asset(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _embedded(data: dict[str, Any] | None) -> Markup:
    """Returns data as JSON with `<`, `>` and `&` escaped, because `</script>` would end the element around the data."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - it contains no special characters of HTML
