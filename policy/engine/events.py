"""The engine's events as typed values: one JSON object per line, as `pulumi preview --event-log` writes them.

The only module that knows the form of an event. An operation reports one or two phases: `pulumi up` previews first,
then updates, and each phase numbers its events from zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

PACK = "quorate"
"""The name of this policy pack in the engine's events."""
_PROFILE = "quorate:profile"
_STACK = "pulumi:pulumi:Stack"
_CLOSING_ERRORS = ("preview failed", "update failed")
"""Prefixes of the engine's last error in a phase that policies stopped. Any other error is a cause of the failure."""
_REMOVALS = frozenset({"delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace"})


@dataclass(frozen=True)
class Message:
    """A diagnostic of the engine, a provider, the program or a policy pack."""

    severity: str
    text: str


@dataclass(frozen=True)
class Violation:
    """A violation of a policy, of any pack."""

    pack: str
    rule: str
    resource: str
    """URN."""
    enforcement: str
    """`mandatory` or `advisory`."""
    message: str

    @property
    def is_mandatory(self) -> bool:
        """Whether the violation stops an update."""
        return self.enforcement == "mandatory"


@dataclass(frozen=True)
class PackSummary:
    """The result of a policy pack after it evaluated the whole stack."""

    pack: str
    version: str
    passed: frozenset[str]
    """Ids of the rules that reported nothing."""


@dataclass(frozen=True)
class Step:
    """What the engine does with one resource."""

    type: str
    urn: str
    removes: bool
    """Whether the resource is no longer in the stack afterwards."""
    state: dict[str, Any]
    """The planned state of the resource; empty for a removal."""


@dataclass(frozen=True)
class StackOutputs:
    """The outputs of the stack: in the state, and from the program. The engine reports them more than once."""

    old: dict[str, Any]
    new: dict[str, Any]


@dataclass(frozen=True)
class PhaseEnd:
    """The summary that closes a phase."""

    result: str
    """`succeeded`, or how the phase failed."""
    changes: dict[str, int]
    """Number of resources by operation: `create`, `same` …"""
    is_preview: bool
    time: int
    """Seconds since 1970; 0 if the event has no time."""


@dataclass(frozen=True)
class Event:
    """One event. Each property is None, or empty, for an event of another kind."""

    body: dict[str, Any]

    @property
    def begins_phase(self) -> bool:
        """Whether the event is the first one of a phase."""
        return self.body.get("sequence") == 0

    @property
    def message(self) -> Message | None:
        if (found := self.body.get("diagnosticEvent")) is None:
            return None
        return Message(str(found.get("severity", "")), str(found.get("message", "")))

    @property
    def violation(self) -> Violation | None:
        if (found := self.body.get("policyEvent")) is None:
            return None
        keys = ("policyPackName", "policyName", "resourceUrn", "enforcementLevel", "message")
        return Violation(*(str(found.get(key, "")).strip() for key in keys))

    @property
    def pack_summary(self) -> PackSummary | None:
        if (found := self.body.get("policyAnalyzeStackSummaryEvent")) is None:
            return None
        passed = frozenset(str(rule) for rule in found.get("passed") or ())
        return PackSummary(found.get("policyPackName", ""), found.get("policyPackVersion", ""), passed)

    @property
    def profile(self) -> str | None:
        """The stack's profile, which the first event of a phase carries."""
        found = self.body.get("preludeEvent")
        return None if found is None else str(found.get("config", {}).get(_PROFILE, ""))

    @property
    def step(self) -> Step | None:
        if (found := self.body.get("resourcePreEvent")) is None:
            return None
        metadata = found["metadata"]
        state = cast("dict[str, Any]", metadata.get("new") or {})
        urn = metadata.get("urn") or state.get("urn", "")
        type_ = metadata.get("type") or state.get("type", "")
        return Step(type_, urn, metadata.get("op") in _REMOVALS, state)

    @property
    def stack_outputs(self) -> StackOutputs | None:
        if (found := self.body.get("resOutputsEvent")) is None or found["metadata"].get("type") != _STACK:
            return None
        metadata = cast("dict[str, Any]", found["metadata"])
        old, new = (cast("dict[str, Any]", metadata.get(key) or {}) for key in ("old", "new"))
        return StackOutputs(old.get("outputs") or {}, new.get("outputs") or {})

    @property
    def end(self) -> PhaseEnd | None:
        if (found := self.body.get("summaryEvent")) is None:
            return None
        counts = cast("dict[str, int]", found.get("resourceChanges") or {})
        changes = {kind: int(count) for kind, count in counts.items()}
        preview, time = bool(found.get("isPreview")), int(self.body.get("timestamp", 0))
        return PhaseEnd(found.get("result", ""), changes, preview, time)


def parse(line: str | bytes) -> Event | None:
    """The event of a line; None if the line is not a JSON object."""
    try:
        body: object = json.loads(line)
    except ValueError:
        return None
    return Event(cast("dict[str, Any]", body)) if isinstance(body, dict) else None


@dataclass
class Phase:
    """What the engine reported in one phase."""

    profile: str = ""
    stack_urn: str = ""
    messages: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    violations: list[Violation] = field(default_factory=list[Violation])
    packs: dict[str, PackSummary] = field(default_factory=dict[str, PackSummary])
    """By the pack's name."""
    changes_outputs: bool = False
    """Whether the program's outputs differ from those in the state."""
    end: PhaseEnd | None = None
    """None if the phase did not run to its end."""

    def add(self, event: Event) -> None:
        """Adds an event of this phase."""
        if message := event.message:
            self.messages.append(message.text)
            if message.severity == "error":
                self.errors.append(message.text.strip())
        elif violation := event.violation:
            self.violations.append(violation)
        elif summary := event.pack_summary:
            self.packs[summary.pack] = summary
        elif (profile := event.profile) is not None:
            self.profile = profile
        elif step := event.step:
            if step.type == _STACK:
                self.stack_urn = step.urn
        elif outputs := event.stack_outputs:
            self.changes_outputs = outputs.old != outputs.new
        elif end := event.end:
            self.end = end

    @property
    def causes(self) -> list[str]:
        """Errors without the engine's closing error of a phase that policies stopped."""
        return [error for error in self.errors if not error.lower().startswith(_CLOSING_ERRORS)]

    @property
    def mandatory(self) -> list[Violation]:
        """Violations that stop an update."""
        return [violation for violation in self.violations if violation.is_mandatory]
