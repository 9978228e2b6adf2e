"""The one finding model: what a rule said of a resource. Reports are views of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much is lost when a rule is broken."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The gravest first."""
        return list(reversed(Severity)).index(self)


class Enforcement(StrEnum):
    """Whether a finding stops an update."""

    MANDATORY = "mandatory"
    ADVISORY = "advisory"
    DISABLED = "disabled"


class Verdict(StrEnum):
    """What a rule says of a resource. A rule that could not be evaluated has not passed."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    NOT_APPLICABLE = "notApplicable"
    NOT_EVALUATED = "notEvaluated"

    @property
    def violates(self) -> bool:
        """Whether the engine is told of it."""
        return self in (Verdict.FAIL, Verdict.NOT_EVALUATED)


@dataclass(frozen=True)
class Finding:
    """One rule's verdict on one resource."""

    rule: str
    severity: Severity
    enforcement: Enforcement
    verdict: Verdict
    resource: str
    """URN; the stack's own where a rule judges the whole of it."""
    message: str
    """What was seen and what was expected; for a pass what was judged."""
    source: str
    remediation: str

    @property
    def stops(self) -> bool:
        """Whether it stops an update."""
        return self.verdict.violates and self.enforcement is Enforcement.MANDATORY

    def to_json(self) -> dict[str, Any]:
        """As findings.json has it (schemas/findings.schema.json)."""
        return asdict(self)


def resource_name(urn: str) -> str:
    """The name at the end of a URN."""
    return urn.rpartition("::")[2]
