"""How much longer acknowledged operations took than before a fault, in both forms of Fuel-CCP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from trials.histories.operation import ClientOperation

BEFORE = 30.0
"""Seconds before a fault whose operations are compared: earlier ones may have met another fault. Project figure."""


@dataclass(frozen=True)
class Degradation:
    """The mean times of answers before and during a fault."""

    before: float
    """Seconds."""
    during: float

    @property
    def absolute(self) -> float:
        """Seconds by which answers took longer."""
        return self.during - self.before

    @property
    def relative(self) -> float:
        """How many times as long answers took."""
        return self.during / self.before


def degradation(history: Iterable[ClientOperation], begin: float, end: float) -> Degradation | None:
    """Returns the degradation of operations that were asked between two times of the clients' clock.

    Operations without an answer are not counted: they are the downtime. Returns None without answers before, or during
    the fault.
    """
    answered = [each for each in history if each.outcome == "ok"]
    before = [
        each.completed - each.invoked for each in answered if begin - BEFORE <= each.invoked and each.completed < begin
    ]
    during = [each.completed - each.invoked for each in answered if begin <= each.invoked < end]
    return Degradation(mean(before), mean(during)) if sum(before) > 0 and during else None
