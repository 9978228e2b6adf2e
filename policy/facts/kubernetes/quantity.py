"""Kubernetes' quantities: "500m" cores, "2Gi" of memory."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import kubernetes_quantity
from policy.facts.properties import Malformed, Properties

MIB = 1024**2
GIB = 1024**3


@dataclass(frozen=True)
class Resources:
    """The requests of a pod, or the allocatable resources of a node, in cores and bytes."""

    cpu: Decimal = Decimal(0)
    memory: Decimal = Decimal(0)

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: Resources) -> Resources:
        return Resources(self.cpu - other.cpu, self.memory - other.memory)

    def times(self, count: int) -> Resources:
        """The resources multiplied by a count."""
        return Resources(self.cpu * count, self.memory * count)

    def most(self, other: Resources) -> Resources:
        """The larger value for CPU and for memory."""
        return Resources(max(self.cpu, other.cpu), max(self.memory, other.memory))

    def fits(self, room: Resources) -> bool:
        """Whether `room` has enough CPU and memory."""
        return self.cpu <= room.cpu and self.memory <= room.memory

    def __str__(self) -> str:
        return f"{_short(self.cpu)} cores and {_short(self.memory / GIB)} GiB"


def resources(tree: Properties) -> Resources:
    """Reads a mapping with `cpu` and `memory`. An absent value is zero."""
    return Resources(quantity(tree.at("cpu")), quantity(tree.at("memory")))


def quantity(tree: Properties) -> Decimal:
    """Reads a quantity in cores or bytes. Raises Malformed if the text is not a valid quantity."""
    if not tree.given():
        return Decimal(0)
    if not tree.is_text():
        return Decimal(str(tree.real()))
    try:
        return kubernetes_quantity.parse(tree.text())
    except ValueError as wrong:
        raise Malformed(str(wrong)) from None


def _short(value: Decimal) -> str:
    return f"{value:.1f}".removesuffix(".0")
