"""Reads Pulumi's events, one JSON object per line as `pulumi preview --event-log` writes them, as typed values.

Only this module depends on the format of an event. A Pulumi command reports one or two phases: `pulumi up` previews
first and then updates. Each phase numbers its events from zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

PACK = "quorate"
"""The name of this policy pack in Pulumi's events."""
_PROFILE = "quorate:profile"
_STACK = "pulumi:pulumi:Stack"
_CLOSING_ERRORS = ("preview failed", "update failed")
"""Prefixes of the error with which Pulumi closes a failed phase. Any other error names a cause of the failure."""
_REMOVALS = frozenset({"delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace"})


@dataclass(frozen=True)
class Message:
    """A diagnostic message of Pulumi, a provider, the program or a policy pack."""

    severity: str
    text: str
    urn: str = ""
    """URN of the resource that the message is about; empty if it is about none."""
    is_status: bool = False
    """Whether the message only describes the present state of an operation, such as what the resource waits for."""


@dataclass(frozen=True)
class ReportedViolation:
    """A violation of a policy, of this policy pack or another one."""

    pack: str
    rule: str
    resource: str
    """URN of the resource that violates the policy."""
    enforcement: str
    """`mandatory` or `advisory`."""
    message: str

    @property
    def is_mandatory(self) -> bool:
        """Whether the violation stops an update."""
        return self.enforcement == "mandatory"


@dataclass(frozen=True)
class PackSummary:
    """Pulumi's summary of a policy pack that has evaluated the whole stack."""

    pack: str
    version: str
    passed: frozenset[str]
    """Ids of the rules that passed."""


@dataclass(frozen=True)
class EngineStep:
    """An operation of Pulumi on one resource."""

    type: str
    urn: str
    removes: bool
    """Whether the operation removes the resource, or its old version, from the stack."""
    state: dict[str, Any]
    """The planned state of the resource; empty for a removal."""
    operation: str = ""
    """Pulumi's name of the operation, such as `create` or `same`."""
    before: dict[str, Any] = field(default_factory=dict[str, Any])
    """The state of the resource before the operation; empty for a new resource."""
    changed: tuple[str, ...] = ()
    """Names of the properties that the operation changes."""
    is_planned: bool = False
    """Whether the operation is only previewed."""


@dataclass(frozen=True)
class StackOutputs:
    """The outputs of the stack: `old` in the state, `new` from the program. Pulumi reports them more than once."""

    old: dict[str, Any]
    new: dict[str, Any]


@dataclass(frozen=True)
class PhaseEnd:
    """The event that ends a phase (a preview or an update), with its result."""

    result: str
    """`succeeded`, or another word if the phase failed."""
    changes: dict[str, int]
    """Number of resources by operation, such as `create` or `same`."""
    is_preview: bool
    time: int
    """Time of the event in seconds since 1970; 0 if the event has no time."""


@dataclass(frozen=True)
class Event:
    """One event of Pulumi. Each property, such as `message`, is None for an event of another kind."""

    body: dict[str, Any]

    @property
    def begins_phase(self) -> bool:
        """Whether the event is the first one of a phase."""
        return self.body.get("sequence") == 0

    @property
    def message(self) -> Message | None:
        if (found := self.body.get("diagnosticEvent")) is None:
            return None
        severity, text, urn = (str(found.get(key, "")) for key in ("severity", "message", "urn"))
        return Message(severity, text, urn, bool(found.get("ephemeral")))

    @property
    def notice(self) -> str | None:
        """A message of the Pulumi command line itself, such as a warning about its settings."""
        found = self.body.get("stdoutEvent")
        return None if found is None else str(found.get("message", ""))

    @property
    def violation(self) -> ReportedViolation | None:
        if (found := self.body.get("policyEvent")) is None:
            return None
        keys = ("policyPackName", "policyName", "resourceUrn", "enforcementLevel", "message")
        return ReportedViolation(*(str(found.get(key, "")).strip() for key in keys))

    @property
    def pack_summary(self) -> PackSummary | None:
        if (found := self.body.get("policyAnalyzeStackSummaryEvent")) is None:
            return None
        passed = frozenset(str(rule) for rule in found.get("passed") or ())
        return PackSummary(found.get("policyPackName", ""), found.get("policyPackVersion", ""), passed)

    @property
    def profile(self) -> str | None:
        """The stack's profile in the prelude event, "" if it is not configured; None for other events."""
        found = self.body.get("preludeEvent")
        return None if found is None else str(found.get("config", {}).get(_PROFILE, ""))

    @property
    def step(self) -> EngineStep | None:
        """The operation that begins."""
        return self._step("resourcePreEvent")

    @property
    def finished(self) -> EngineStep | None:
        """The operation that has ended, with its result as the state. Pulumi reports components twice."""
        return self._step("resOutputsEvent")

    @property
    def failed(self) -> EngineStep | None:
        """The operation that has failed."""
        return self._step("resOpFailedEvent")

    def _step(self, kind: str) -> EngineStep | None:
        if (found := self.body.get(kind)) is None:
            return None
        metadata = found["metadata"]
        before, state = (cast("dict[str, Any]", metadata.get(key) or {}) for key in ("old", "new"))
        urn = metadata.get("urn") or state.get("urn", "")
        type_ = metadata.get("type") or state.get("type", "")
        operation = str(metadata.get("op", ""))
        changed = tuple(str(each) for each in metadata.get("diffs") or ())
        removes, is_planned = operation in _REMOVALS, bool(found.get("planning"))
        return EngineStep(type_, urn, removes, state, operation, before, changed, is_planned)

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


def closes_phase(error: str) -> bool:
    """Whether an error is the one with which Pulumi closes a failed phase, and names no cause."""
    return error.lower().startswith(_CLOSING_ERRORS)


def parse(line: str | bytes) -> Event | None:
    """Reads one line of an event log as an event. Returns None if the line is not a JSON object."""
    try:
        body: object = json.loads(line)
    except ValueError:
        return None
    return Event(cast("dict[str, Any]", body)) if isinstance(body, dict) else None


@dataclass
class EnginePhase:
    """Everything that Pulumi reported in one phase: a preview or an update."""

    profile: str = ""
    stack_urn: str = ""
    messages: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    violations: list[ReportedViolation] = field(default_factory=list[ReportedViolation])
    packs: dict[str, PackSummary] = field(default_factory=dict[str, PackSummary])
    """The summaries of policy packs, by the pack's name."""
    changes_outputs: bool = False
    """Whether the program's outputs differ from those in the state."""
    end: PhaseEnd | None = None
    """The event that ends the phase; None if the phase was interrupted."""

    def add(self, event: Event) -> None:
        """Adds the content of an event to this phase."""
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
        """The errors of the phase without the error with which Pulumi closes a failed phase."""
        return [error for error in self.errors if not closes_phase(error)]

    @property
    def mandatory(self) -> list[ReportedViolation]:
        """Violations that stop an update."""
        return [violation for violation in self.violations if violation.is_mandatory]
