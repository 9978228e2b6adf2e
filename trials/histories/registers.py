"""Whether the operations on registers, such as keys of etcd, are linearizable.

The search is that of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with the memory of Lowe ("Testing
for Linearizability", 2017): take any operation that was invoked before all others have completed, and go on with the
value after it; never search twice from the same operations taken and the same value. Registers are independent of each
other, so that each is checked alone.

Values of operations: `write`: [key, value]; `read`: [key, value read]; `cas`: [key, expected, value, whether it was
set], where the last is missing without an answer. A register that was never written has the value null.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trials.histories.operation import Anomaly, ClientOperation


def anomalies(history: Iterable[ClientOperation]) -> list[Anomaly]:
    """Returns an anomaly for the registers that are not linearizable; [] if all are."""
    registers: dict[object, list[ClientOperation]] = defaultdict(list)
    for each in history:
        if each.outcome == "ok" or (each.outcome == "unknown" and each.action != "read"):
            registers[each.value[0]].append(each)
    stuck = [found for operations in registers.values() if (found := first_contradiction(operations))]
    if not stuck:
        return []
    return [Anomaly("not linearizable", f"{stuck[0].action} of {stuck[0].value}", len(stuck))]


def first_contradiction(operations: Sequence[ClientOperation]) -> ClientOperation | None:
    """Returns the operation on one register after which no order of the operations explains the answers.

    Returns None if there is an order: the register is linearizable.
    """
    steps = [_Step(each) for each in sorted(operations, key=lambda each: each.invoked)]
    required = sum(1 << number for number, step in enumerate(steps) if step.must_happen)
    open_, seen = [(0, 0, None)], {(0, _key(None))}
    furthest, blamed = -1, None
    while open_:
        taken, first, value = open_.pop()
        if taken & required == required:
            return None
        candidates, earliest = _next(steps, taken, first)
        if (size := (taken & required).bit_count()) > furthest:
            furthest, blamed = size, earliest
        for number in candidates:
            possible, after = steps[number].apply(value)
            state = taken | 1 << number
            if possible and (state, _key(after)) not in seen:
                seen.add((state, _key(after)))
                begin = first
                while begin < len(steps) and state >> begin & 1:
                    begin += 1
                open_.append((state, begin, after))
    return blamed


@dataclass(frozen=True)
class _Step:
    operation: ClientOperation

    @property
    def must_happen(self) -> bool:
        return self.operation.outcome == "ok"

    @property
    def completed(self) -> float:
        return self.operation.completed if self.must_happen else math.inf

    def apply(self, value: Any) -> tuple[bool, Any]:
        """Returns whether the operation may find this value, and the value after it."""
        words = self.operation.value
        if self.operation.action == "write":
            return True, words[1]
        if self.operation.action == "read":
            return words[1] == value, value
        expected, wanted = words[1:3]
        if not self.must_happen:
            return value == expected, wanted
        was_set = words[3]
        return (value == expected) is was_set, wanted if was_set else value


def _next(steps: Sequence[_Step], taken: int, first: int) -> tuple[list[int], ClientOperation | None]:
    """Returns the operations that may be the next, and of all that are left the one that completed first."""
    earliest, blamed = math.inf, None
    left: list[int] = []
    for number in range(first, len(steps)):
        if taken >> number & 1:
            continue
        step = steps[number]
        if step.operation.invoked > earliest:
            break
        left.append(number)
        if step.completed < earliest:
            earliest, blamed = step.completed, step.operation
    return left, blamed


def _key(value: Any) -> str:
    return repr(value)
