"""Judges the controls of frameworks by the verdicts of the rules that evaluate them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from audit.result import Audit, most_severe
from policy.catalogue import BY_ID
from policy.findings import Verdict
from policy.frameworks import Control, Framework, frameworks


@dataclass(frozen=True)
class JudgedControl:
    """A control with the most severe verdict of its rules; None if no rule evaluates it."""

    framework: Framework
    control: Control
    verdict: Verdict | None

    @property
    def words(self) -> str:
        """The verdict in words. A pass is partial if the rules do not tell all of the control."""
        if self.verdict is None:
            return "not judged"
        words = {Verdict.NOT_EVALUATED: "not evaluated", Verdict.NOT_APPLICABLE: "not applicable"}
        partly = self.verdict is Verdict.PASS and bool(self.control.not_judged)
        return "pass, in part" if partly else words.get(self.verdict, str(self.verdict))


def judged(audit: Audit) -> Iterator[JudgedControl]:
    """Yields every control of every framework with its verdict on the stack."""
    for framework in frameworks():
        for control in framework.controls:
            verdicts = [audit.verdict_of(BY_ID[rule]) for rule in control.rules]
            yield JudgedControl(framework, control, most_severe(verdicts) if verdicts else None)


def to_json(audit: Audit) -> list[dict[str, Any]]:
    """Returns the controls in the format of findings.json."""
    return [
        {
            "framework": each.framework.framework,
            "version": each.framework.version,
            "control": each.control.control,
            "where": each.control.where,
            "says": each.control.says,
            "rules": list(each.control.rules),
            "verdict": each.verdict and str(each.verdict),
            "notJudged": each.control.not_judged,
        }
        for each in judged(audit)
    ]
