"""Tests of the findings of policy packs that a preview shows."""

from __future__ import annotations

from commands.run import run_findings
from policy.engine.events import ReportedViolation
from tests.commands.run.events import urn

MESSAGE = "Etcd has an odd size\nMasterTier {0}: 2 members; expected 3\nFix: Add one.\nSource: 004, 5.5"


def violation(rule: str, resource: str, enforcement: str = "mandatory", pack: str = "quorate") -> ReportedViolation:
    return ReportedViolation(pack, rule, urn("a:b:C", resource), enforcement, MESSAGE.format(resource))


def test_mandatory_rules_come_first_and_a_rule_is_shown_once() -> None:
    found = [violation("drain", "a", "advisory"), *(violation("size", name) for name in "abcde")]
    assert list(run_findings.lines(found)) == [
        "[mandatory] size",
        *(f"  MasterTier {name}: 2 members; expected 3" for name in "abc"),
        "  and 2 more",
        "  Fix: Add one.",
        "[advisory] drain",
        "  MasterTier a: 2 members; expected 3",
        "  Fix: Add one.",
    ]


def test_a_finding_of_another_pack_is_shown_whole() -> None:
    assert list(run_findings.lines([violation("size", "a", pack="theirs")])) == [
        "[mandatory] theirs: size",
        *(f"  {line}" for line in MESSAGE.format("a").splitlines()),
    ]
