"""Defines a change between two previews of a stack: its kind, its phase in the order of the work, and its risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any


class Risk(StrEnum):
    """How dangerous a change is for quorums and data."""

    PLAIN = "plain"
    RISKY = "risky"
    """The change stops a quorum member temporarily, or cannot be undone."""
    FORBIDDEN = "forbidden"
    """No order of steps is safe: the change costs a quorum its majority, or loses data."""


class Phase(IntEnum):
    """The phases in which the changes of a pull request must be made, in order."""

    PREPARE = 1
    ADD = 2
    JOIN = 3
    MARK = 4
    MOVE = 5
    ROLL = 6
    SHRINK = 7
    REMOVE = 8

    @property
    def title(self) -> str:
        """The heading of the phase in documents and in the terminal."""
        return _TITLES[self]


_TITLES = {
    Phase.PREPARE: "First: what all other changes depend on",
    Phase.ADD: "Add machines and services",
    Phase.JOIN: "Add members, one at a time",
    Phase.MARK: "Label and taint nodes",
    Phase.MOVE: "Move services",
    Phase.ROLL: "Roll, one at a time",
    Phase.SHRINK: "Remove services and instances",
    Phase.REMOVE: "Remove members, drain and remove machines",
}


class ChangeKind(StrEnum):
    """Kinds of change, in their order within a phase. The values are part of changes.json and must not be renamed."""

    VERSION_REFUSED = "version-refused"
    CLOUD_CHANGED = "cloud-changed"
    BUDGET_CHANGED = "budget-changed"
    CONFIG_CHANGED = "config-changed"
    MEMBERS_LEAVE = "members-leave"
    MACHINE_ADDED = "machine-added"
    MACHINE_RENAMED = "machine-renamed"
    MACHINE_REMOVED = "machine-removed"
    MACHINE_REPOOLED = "machine-changes-pool"
    MACHINE_RESIZED = "machine-resized"
    CAPACITY_CHANGED = "node-capacity-changed"
    MACHINE_CONFIGURED = "machine-config-changed"
    VM_MOVED = "vm-changes-server"
    DISK_REPLACED = "vm-disk-replaced"
    NODE_MARKED = "node-labels-or-taints-changed"
    MEMBERS_JOIN = "members-join"
    SERVICE_ADDED = "service-added"
    SERVICE_RENAMED = "service-renamed"
    SERVICE_MOVED = "service-changes-pool"
    SERVICE_REPLACED = "service-replaced"
    SERVICE_REMOVED = "service-removed"
    COUNT_CHANGED = "count-changed"
    STRATEGY_CHANGED = "rollout-strategy-changed"
    MEMBERS_ROLLED = "quorum-rolled"
    SERVICE_ROLLED = "service-rolled"
    JOB_ADDED = "job-added"
    JOB_RUNS = "job-runs-again"
    JOB_REMOVED = "job-removed"
    VOLUME_CHANGED = "volume-changed"
    OTHER = "other"


@dataclass(frozen=True)
class Change:
    """One change that a pull request makes to a stack."""

    kind: ChangeKind
    phase: Phase
    says: str
    """The change in a sentence."""
    resources: tuple[str, ...]
    """URNs of the resources that change; a removed resource has its URN from before the change."""
    steps: tuple[str, ...] = ()
    """The steps to make the change, in order, as instructions."""
    checks: tuple[str, ...] = ()
    """Conditions to check before the change, such as that all members of each affected quorum are up."""
    risk: str = ""
    level: Risk = Risk.PLAIN
    row: str = ""
    """For a changed count, the row of the reference architecture that sets it, with value and source."""

    def to_json(self) -> dict[str, Any]:
        """Returns the change in the format of changes.json (schemas/changes.schema.json)."""
        return {
            "kind": self.kind,
            "phase": self.phase.name.lower(),
            "level": self.level,
            "says": self.says,
            "resources": list(self.resources),
            "checks": list(self.checks),
            "steps": list(self.steps),
            "risk": self.risk,
            "row": self.row,
        }


def ordered(found: Iterable[Change]) -> list[Change]:
    """Sorts changes into the order in which they must be made. The order is deterministic."""
    kinds = list(ChangeKind)
    return sorted(found, key=lambda each: (each.phase, kinds.index(each.kind), each.says, each.resources))


def worst(found: Iterable[Change]) -> Risk:
    """Returns the most severe level among changes; PLAIN if there are none."""
    levels = list(Risk)
    return max((each.level for each in found), key=levels.index, default=Risk.PLAIN)
