"""One change, as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any


class Level(StrEnum):
    """How much a change asks of whoever makes it."""

    PLAIN = "plain"
    RISKY = "risky"
    """It takes a member from a quorum for a while, or cannot be taken back."""
    FORBIDDEN = "forbidden"
    """No order of steps makes it safe: a majority or data would be lost."""


class Phase(IntEnum):
    """When, among all changes, it must happen."""

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
        """What a view calls it."""
        return _TITLES[self]


_TITLES = {
    Phase.PREPARE: "First: what all others rely on",
    Phase.ADD: "Add machines and services",
    Phase.JOIN: "Let members join, one at a time",
    Phase.MARK: "Label and taint nodes",
    Phase.MOVE: "Move services",
    Phase.ROLL: "Roll, one at a time",
    Phase.SHRINK: "Take services and instances away",
    Phase.REMOVE: "Let members leave, drain and remove machines",
}


class Kind(StrEnum):
    """Types of change, within a phase in this order. Names are stable: changes.json carries them."""

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
    JOB_RUNS = "job-runs-again"
    VOLUME_CHANGED = "volume-changed"
    OTHER = "other"


@dataclass(frozen=True)
class Change:
    """Something that a pull request does to a stack."""

    kind: Kind
    phase: Phase
    says: str
    """What changes, in a sentence."""
    resources: tuple[str, ...]
    """URNs: as they will be; of what goes away as they were."""
    steps: tuple[str, ...] = ()
    """In order."""
    checks: tuple[str, ...] = ()
    """Quorums that must be whole before it begins."""
    risk: str = ""
    level: Level = Level.PLAIN
    row: str = ""
    """The row of the reference architecture that a count comes from, and what it says."""

    def to_json(self) -> dict[str, Any]:
        """As changes.json has it (schemas/changes.schema.json)."""
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
    """Changes in the order in which they must happen; the same changes always come in the same order."""
    kinds = list(Kind)
    return sorted(found, key=lambda each: (each.phase, kinds.index(each.kind), each.says, each.resources))


def worst(found: Iterable[Change]) -> Level:
    """The gravest level among changes."""
    levels = list(Level)
    return max((each.level for each in found), key=levels.index, default=Level.PLAIN)
