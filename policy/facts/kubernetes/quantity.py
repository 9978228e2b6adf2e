"""Reads Kubernetes quantities, such as "500m" cores or "2Gi" of memory, and calculates with them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from formats import kubernetes_quantity
from policy.properties import Malformed, Properties

MIB = 1024**2
GIB = 1024**3


@dataclass(frozen=True)
class PodResources:
    """The requests of a pod, or the allocatable resources of a node, in cores and bytes."""

    cpu: Decimal = Decimal(0)
    memory: Decimal = Decimal(0)

    def __add__(self, other: PodResources) -> PodResources:
        return PodResources(self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: PodResources) -> PodResources:
        return PodResources(self.cpu - other.cpu, self.memory - other.memory)

    def times(self, count: int) -> PodResources:
        """Returns these resources multiplied by `count`."""
        return PodResources(self.cpu * count, self.memory * count)

    def most(self, other: PodResources) -> PodResources:
        """Returns the larger CPU and the larger memory of these and the other resources."""
        return PodResources(max(self.cpu, other.cpu), max(self.memory, other.memory))

    def fits(self, room: PodResources) -> bool:
        """Whether `room` has enough CPU and memory for these resources."""
        return self.cpu <= room.cpu and self.memory <= room.memory

    def __str__(self) -> str:
        return f"{_short(self.cpu)} cores and {_short(self.memory / GIB)} GiB"


def resources(tree: Properties) -> PodResources:
    """Reads a mapping with the quantities `cpu` and `memory`, such as a container's requests.

    Absent values are zero.
    """
    return PodResources(quantity(tree.at("cpu")), quantity(tree.at("memory")))


def quantity(tree: Properties) -> Decimal:
    """Reads a quantity as cores or bytes; zero if absent. Raises Malformed if the text is not a valid quantity."""
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
