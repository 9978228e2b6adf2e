"""The level of each rule in an evaluation, and the level that its profile requires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy.findings import Enforcement


@dataclass(frozen=True)
class Level:
    """The enforcement of one rule in one evaluation."""

    rule: str
    required: Mapping[str, Enforcement]
    """The rule's own level, by profile."""
    applied: Enforcement

    def is_lowered(self, profile: str) -> bool:
        """Whether the rule is mandatory in this profile but does not stop an update in this evaluation."""
        return self.required.get(profile) is Enforcement.MANDATORY and self.applied is not Enforcement.MANDATORY
