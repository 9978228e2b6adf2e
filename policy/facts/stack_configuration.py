"""The part of the stack's configuration on which rules and their enforcement levels depend."""

from __future__ import annotations

from dataclasses import dataclass

PRODUCTION, LAB = "production", "lab"


@dataclass(frozen=True)
class StackConfiguration:
    """What the policy pack has received of the stack's configuration (engine/received.py)."""

    stack: str = ""
    """The stack's name; empty if the pack has received no configuration."""
    profile: str = PRODUCTION
    architecture: str | None = None
    """Name of a reference architecture, or path of a file with the stack's own; None if the stack names none."""
    waivers: str | None = None
    """The waivers as JSON (facts/stack_waivers.py)."""
    is_preview: bool = False
