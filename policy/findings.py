"""Defines findings: a finding is the verdict of a policy rule on a resource. All reports are written from findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formats.waiver import Waiver


class Severity(StrEnum):
    """How severe a failure of a rule is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Position in the order of severity: 0 for critical, the most severe."""
        return list(reversed(Severity)).index(self)


class Enforcement(StrEnum):
    """The enforcement level of a rule: only a finding of a mandatory rule stops an update."""

    MANDATORY = "mandatory"
    ADVISORY = "advisory"
    DISABLED = "disabled"


class Verdict(StrEnum):
    """The result of a rule on a resource. A rule that could not be evaluated has not passed."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    NOT_APPLICABLE = "notApplicable"
    NOT_EVALUATED = "notEvaluated"
    WAIVED = "waived"

    @property
    def is_violation(self) -> bool:
        """Whether the rule failed or was not evaluated."""
        return self in (Verdict.FAIL, Verdict.NOT_EVALUATED)

    @property
    def reported(self) -> bool:
        """Whether the pack reports the verdict to the engine, which shows it."""
        return self.is_violation or self is Verdict.WAIVED


@dataclass(frozen=True)
class Finding:
    """One rule's verdict on one resource."""

    rule: str
    severity: Severity
    enforcement: Enforcement
    verdict: Verdict
    resource: str
    """URN of the resource, or of the stack for a finding about the whole stack."""
    message: str
    """The actual and the expected state; for a pass, what was evaluated."""
    source: str
    remediation: str
    waiver: Waiver | None = None
    """The waiver of a waived failure; None if the finding is not waived, or was read from Pulumi's events only."""

    @property
    def blocks_update(self) -> bool:
        """Whether the finding stops an update."""
        return self.verdict.is_violation and self.enforcement is Enforcement.MANDATORY

    @property
    def wording(self) -> str:
        """The finding's message, with the waiver or "not evaluated" in front if the verdict requires it."""
        if self.verdict is Verdict.WAIVED:
            return f"{self.waiver or 'waived'}: {self.message}"
        return f"not evaluated: {self.message}" if self.verdict is Verdict.NOT_EVALUATED else self.message

    def to_json(self) -> dict[str, Any]:
        """Returns the finding in the format of findings.json (schemas/findings.schema.json)."""
        return {**vars(self), "waiver": self.waiver.to_json() if self.waiver else None}


def resource_name(urn: str) -> str:
    """Returns the resource's name, which is the last part of its URN."""
    return urn.rpartition("::")[2]
