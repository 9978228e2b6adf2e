"""Defines findings: a finding is the verdict of a policy rule on a resource. All reports are written from findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any


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
class Waiver:
    """A waiver in the stack file: its owner accepts failures of one rule on matching resources until a date."""

    rule: str
    resource: str
    """The name of a resource, or a pattern such as `nova-*`."""
    reason: str
    owner: str
    expires: date
    """The last day on which the waiver is valid."""
    approved_by: str = ""
    """The second person who approved the waiver; empty if there is none."""

    def __str__(self) -> str:
        approved = f", approved by {self.approved_by}" if self.approved_by else ""
        return f"waived until {self.expires} by {self.owner}{approved} ({self.reason})"

    def to_json(self) -> dict[str, str]:
        """Returns the waiver in the format of findings.json and of the policy pack's record."""
        written = {key: value for key, value in vars(self).items() if key != "approved_by"}
        return {**written, "expires": self.expires.isoformat(), "approvedBy": self.approved_by}

    @classmethod
    def from_json(cls, written: Mapping[str, str]) -> Waiver:
        """Reads a waiver that `to_json` wrote. Raises ValueError, KeyError or TypeError if it is incomplete."""
        named = {key: value for key, value in written.items() if key not in ("expires", "approvedBy")}
        return cls(**named, expires=date.fromisoformat(written["expires"]), approved_by=written["approvedBy"])


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
