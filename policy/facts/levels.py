"""The enforcement level that a policy rule has in an evaluation, and the level that each profile requires for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy.findings import Enforcement


@dataclass(frozen=True)
class RuleLevel:
    """The enforcement level of one policy rule in one evaluation of a stack."""

    rule: str
    required: Mapping[str, Enforcement]
    """The level that the rule itself defines for each profile, such as production."""
    applied: Enforcement

    def is_lowered(self, profile: str) -> bool:
        """Whether the rule is mandatory in this profile but does not stop an update in this evaluation."""
        return self.required.get(profile) is Enforcement.MANDATORY and self.applied is not Enforcement.MANDATORY
