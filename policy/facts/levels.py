"""The level at which each rule is evaluated, beside the level that it has in each profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy.findings import Enforcement


@dataclass(frozen=True)
class Level:
    """The enforcement of one rule in one evaluation."""

    rule: str
    required: Mapping[str, Enforcement]
    """By profile."""
    applied: Enforcement

    def is_lowered(self, profile: str) -> bool:
        """Whether the rule is mandatory in a profile and would not stop an update here."""
        return self.required.get(profile) is Enforcement.MANDATORY and self.applied is not Enforcement.MANDATORY
